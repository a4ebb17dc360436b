import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type ErrorCode, errorStatus } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkErrorResponse } from '../http/fixtures/error-answer.ts'

const config = { access: 'public', publicReason: 'A test.' } as const

/** A plugin that throws and sends the errors of @fastify/sensible. */
const sensible = definePlugin({
  id: 'sensible',
  setup({ routes }) {
    routes((app) => {
      app.get<{ Params: { status: string } }>('/thrown/:status', { config }, async ({ params }) => {
        throw app.httpErrors.createError(Number(params.status), 'It is so, a client may know.')
      })
      app.get('/not-found', { config }, async (_request, reply) => reply.notFound('There is no such note.'))
      app.get('/plain', { config }, async () => {
        throw app.httpErrors.forbidden()
      })
      app.get('/assert', { config }, async () => app.assert.equal(1, 2, 409, 'There is one already.'))
    })
  },
})

test('an error of @fastify/sensible with a documented status gets an answer in the documented form', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({ plugins: [sensible], onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  for (const [code, status] of Object.entries(errorStatus) as [ErrorCode, number][]) {
    const answer = await node.fetch(`/thrown/${status}`)
    const { message } = (await answer.clone().json()) as { message: string }
    await checkErrorResponse(t, answer, code)
    if (status < 500) t.equal(message, 'It is so, a client may know.', code)
    else
      t.notMatch(message, 'a client may know', `${code}: only the log has the message of a fault of the node`)
  }
  const faults = lines.filter((line) => line.includes('It is so') && !line.includes('"event":"refused"'))
  t.equal(faults.length, 4, 'the log has each fault once; a full disk needs no stack')

  const missing = await node.fetch('/not-found')
  t.match(await missing.clone().json(), { message: 'There is no such note.' })
  await checkErrorResponse(t, missing, 'NOT_FOUND')
  const plain = await node.fetch('/plain')
  t.same([plain.status, await plain.json()], [403, { error: true, message: 'Forbidden', code: 'FORBIDDEN' }])
  await checkErrorResponse(t, await node.fetch('/assert'), 'CONFLICT')
  await checkErrorResponse(t, await node.fetch('/thrown/418'), 'VALIDATION_ERROR')
  await checkErrorResponse(t, await node.fetch('/thrown/501'), 'INTERNAL_ERROR')
})
