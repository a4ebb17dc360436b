import { type ErrorCode, NodekeepError, type NodekeepErrorOptions } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

/** Returns a script that fails a number of times, and then replies. */
function failing(times: number, code: ErrorCode, options: NodekeepErrorOptions = {}) {
  return scripted(async function* (_request, _signal, turn) {
    if (turn < times) throw new NodekeepError(code, 'Not now.', options)
    yield text('at last')
    yield stop
  })
}

t.test('Only temporary failures before the first piece are retried', async (t) => {
  const node = await createAiNode({
    providers: {
      error: failing(2, 'UPSTREAM_ERROR'),
      timeout: failing(2, 'UPSTREAM_TIMEOUT'),
      busy: failing(2, 'TOO_MANY_REQUESTS', { headers: { 'retry-after': '0' } }),
      unavailable: failing(2, 'SERVICE_UNAVAILABLE'),
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const provider of ['error', 'timeout', 'busy', 'unavailable']) {
    const answer = await chat(ada, { provider, stream: true })
    t.match(readEvents(await answer.text()), { text: 'at last', error: null }, provider)
  }
  for (const row of await usageOf(ada)) t.match(row, { requests: 1, failed: 0 })
})

t.test('The client gets a failure after the last retry', async (t) => {
  const acme = failing(9, 'SERVICE_UNAVAILABLE', { headers: { 'retry-after': '0' } })
  const node = await createAiNode({ providers: { acme }, ai: { retries: { max: 3 } } })
  t.teardown(() => node.stop())
  const answer = await chat(await node.signIn())
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '0')
  t.match(await answer.json(), { message: 'Not now.', code: 'SERVICE_UNAVAILABLE' })
  t.equal(acme.calls.length, 4)
  for (const { signal, request } of acme.calls) {
    t.ok(signal.aborted, 'Each call has ended.')
    t.equal(request.model, 'large')
  }
})

t.test('Permanent failures and failures of the request are not retried', async (t) => {
  const providers = {
    key: failing(1, 'UPSTREAM_ERROR', { permanent: true }),
    model: failing(1, 'NOT_FOUND'),
    request: failing(1, 'VALIDATION_ERROR'),
    sense: failing(1, 'UNPROCESSABLE'),
  }
  const node = await createAiNode({ providers })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const status = { key: 502, model: 404, request: 400, sense: 422 }
  for (const [name, { calls }] of Object.entries(providers)) {
    t.equal((await chat(ada, { provider: name })).status, status[name as keyof typeof status])
    t.equal(calls.length, 1, name)
  }
})

t.test('A provider that asks for a longer wait than allowed is not called again', async (t) => {
  const acme = failing(1, 'TOO_MANY_REQUESTS', { headers: { 'retry-after': '2' } })
  const node = await createAiNode({ providers: { acme }, ai: { retries: { longestDelayMs: 1999 } } })
  t.teardown(() => node.stop())
  const answer = await chat(await node.signIn())
  t.equal(answer.status, 429)
  t.equal(answer.headers.get('retry-after'), '2')
  t.equal(acme.calls.length, 1)
})

t.test('A provider that asks for a short wait is called again after it', async (t) => {
  const acme = failing(1, 'TOO_MANY_REQUESTS', { headers: { 'retry-after': '1' } })
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const began = performance.now()
  t.equal((await chat(await node.signIn())).status, 200)
  t.ok(performance.now() - began >= 1000)
  t.equal(acme.calls.length, 2)
})

t.test('A call is not retried after its first piece', async (t) => {
  const acme = scripted(async function* () {
    yield text('a')
    throw new NodekeepError('UPSTREAM_ERROR', 'Broken.')
  })
  const quiet = scripted(async function* (_request, _signal, turn) {
    yield usage(1, 0)
    if (turn === 0) throw new NodekeepError('UPSTREAM_ERROR', 'Broken.')
    yield text('b')
    yield stop
  })
  const node = await createAiNode({ providers: { acme, quiet } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.match(readEvents(await (await chat(ada, { stream: true })).text()), {
    text: 'a',
    error: { message: 'Broken.' },
  })
  t.equal(acme.calls.length, 1)
  t.match(readEvents(await (await chat(ada, { provider: 'quiet', stream: true })).text()), {
    text: 'b',
    error: null,
  })
  t.equal(quiet.calls.length, 2, 'A count of tokens is no piece of the reply.')
})
