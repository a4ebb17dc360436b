import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from '../http/fixtures/error-answer.ts'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'

/** A plugin of which each request waits until all have come; on `/NAME/throw` something then throws where nobody catches. */
function createPlugin(id: string, come: () => void, all: Promise<void>) {
  return definePlugin({
    id,
    setup({ routes }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'A test.' } as const
        app.get(`/${id}/throw`, { config }, (request) => {
          come()
          all.then(() =>
            setImmediate(() => {
              throw new Error(`${id} ${request.id}`)
            }),
          )
          return new Promise(() => {})
        })
        app.get(`/${id}/answer`, { config }, async () => {
          come()
          await all
          return { by: id }
        })
      })
    },
  })
}

test('of pipelined requests, each is on the account of its own plugin and answers for its own faults', async (t) => {
  const paths = ['/one/throw', '/two/answer', '/two/throw', '/one/throw', '/one/answer']
  const all = Promise.withResolvers<void>()
  let count = 0
  const come = () => {
    count += 1
    if (count === paths.length) all.resolve()
  }
  const node = await createTestNode({
    plugins: ['one', 'two'].map((id) => createPlugin(id, come, all.promise)),
  })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  connection.send(paths.map((path) => rawRequest('GET', path)).join(''))
  for (const path of paths) {
    const answer = await connection.answer()
    if (path.endsWith('/throw')) checkError(t, answer, 'INTERNAL_ERROR', path)
    else t.match(answer, { status: 200, body: `{"by":"${path.slice(1, 4)}"}` })
  }
})
