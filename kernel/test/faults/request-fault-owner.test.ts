import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, defineService, type RoutesApp } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from '../http/fixtures/error-answer.ts'
import { rawConnection, rawRequest } from '../http/fixtures/raw-connection.ts'

/** Creates a plugin with a route that answers and a route that never does, because it throws an uncaught error. */
function createPlugin(id: string) {
  return definePlugin({
    id,
    setup({ routes }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'A test.' } as const
        app.get(`/${id}/throw`, { config }, (request) => {
          setImmediate(() => {
            throw new Error(`${id} ${request.id}`)
          })
          return new Promise(() => {})
        })
        app.get(`/${id}/answer`, { config }, async () => ({ by: id }))
      })
    },
  })
}

test('each pipelined request runs in the context of its own plugin and gets its own faults', async (t) => {
  const paths = ['/one/throw', '/two/answer', '/two/throw', '/one/throw', '/one/answer']
  const node = await createTestNode({ plugins: ['one', 'two'].map(createPlugin) })
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

test('a fault after an injected request belongs to the plugin that threw it', async (t) => {
  const Greeting = defineService<{ greet(): Promise<string> }>('greeting', 1)
  const config = { access: 'public', publicReason: 'A test.' } as const
  const asked = definePlugin({
    id: 'asked',
    provides: { greeting: Greeting },
    setup({ routes }) {
      let app: RoutesApp | undefined
      routes((instance) => {
        app = instance
        instance.get('/greeting', { config }, async () => 'hello')
      })
      return {
        greeting: { greet: async () => (await app?.inject('/greeting').then(({ body }) => body)) ?? '' },
      }
    },
  })
  const asking = definePlugin({
    id: 'asking',
    requires: { greeting: Greeting },
    setup({ routes, greeting }) {
      routes((app) => {
        app.get('/ask', { config }, async () => {
          await greeting.greet()
          setImmediate(() => {
            throw new Error('after the greeting')
          })
          return new Promise(() => {})
        })
      })
    },
  })
  const node = await createTestNode({ plugins: [asked, asking] })
  t.teardown(() => node.stop())
  t.equal((await node.fetch('/ask')).status, 500)
  const states = Object.fromEntries(node.plugins().map(({ id, state }) => [id, state]))
  t.match(states, { asked: 'active', asking: 'degraded' })
})
