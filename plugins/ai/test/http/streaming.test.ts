import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { replying, scripted, stop, text, usage } from '../fixtures/scripted-provider.ts'

const form = { 'content-type': 'text/event-stream; charset=utf-8' }

t.test('A stream has the form of the interface', async (t) => {
  const providers = {
    hello: replying('Hel', 'lo "you"\n', '✓ 😀'),
    // Each piece has half of a character, as from a server that cuts by UTF-16 units.
    halves: replying('a\ud83d', '\ude00b'),
    nothing: scripted(() => [stop]),
    'usage-only': scripted(() => [usage(1, 0), text(''), usage(1, 0), stop]),
    'failing-in-the-middle': scripted(async function* () {
      yield text('so far')
      throw new NodekeepError('TOO_MANY_REQUESTS', 'Enough.', { headers: { 'retry-after': '7' } })
    }),
  }
  const node = await createAiNode({ providers })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const streamed = (provider: string) => chat(ada, { provider, stream: true })

  t.test('A stream has one data line for each piece of text, then [DONE]', async (t) => {
    const answer = await streamed('hello')
    t.equal(answer.status, 200)
    t.match(Object.fromEntries(answer.headers), {
      ...form,
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-request-id': String,
    })
    t.equal(
      await answer.text(),
      'data: {"chunk":"Hel"}\n\ndata: {"chunk":"lo \\"you\\"\\n"}\n\ndata: {"chunk":"✓ 😀"}\n\ndata: [DONE]\n\n',
    )
  })

  t.test('The client gets both halves of a character together', async (t) => {
    t.equal(readEvents(await (await streamed('halves')).text()).text, 'a😀b')
  })

  t.test('A reply without text is only [DONE]', async (t) => {
    for (const provider of ['nothing', 'usage-only']) {
      t.equal(await (await streamed(provider)).text(), 'data: [DONE]\n\n', provider)
    }
  })

  t.test('An error before the first piece is a plain answer', async (t) => {
    const answer = await streamed('unknown')
    t.equal(answer.status, 404)
    t.match(answer.headers.get('content-type'), /^application\/json/)
    t.match(await answer.json(), { error: true, code: 'NOT_FOUND' })
  })

  t.test('An error after the first piece is an event, and [DONE] follows', async (t) => {
    const answer = await streamed('failing-in-the-middle')
    t.equal(answer.status, 200)
    t.equal(
      await answer.text(),
      'data: {"chunk":"so far"}\n\ndata: {"chunk":"","error":true,"message":"Enough.","code":"TOO_MANY_REQUESTS"}\n\ndata: [DONE]\n\n',
    )
  })
})

t.test('The node sends heartbeats before the first piece, and later errors are events', async (t) => {
  const gate = Promise.withResolvers<void>()
  const providers = {
    late: scripted(async function* () {
      await gate.promise
      yield text('at last')
      yield stop
    }),
    'late-failure': scripted(async function* () {
      await gate.promise
      yield usage(1, 0)
      throw new NodekeepError('VALIDATION_ERROR', 'Not like this.')
    }),
  }
  const node = await createAiNode({ providers, ai: { heartbeatSeconds: 0.02 } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const streamed = (provider: string) => chat(ada, { provider, stream: true })
  const [reply, failure] = await Promise.all([streamed('late'), streamed('late-failure')])
  t.match(Object.fromEntries(reply.headers), form, 'The headers come with the first heartbeat.')
  t.equal(failure.status, 200)
  gate.resolve()
  const late = readEvents(await reply.text())
  t.match(late, { text: 'at last', error: null })
  t.ok(late.pings > 0)
  const failed = readEvents(await failure.text())
  t.match(failed, { text: '', error: { message: 'Not like this.', code: 'VALIDATION_ERROR' } })
  t.ok(failed.pings > 0)
})

t.test('Heartbeats also come in pauses, and none comes after the end', async (t) => {
  const pause = Promise.withResolvers<void>()
  const acme = scripted(async function* () {
    yield text('a')
    await pause.promise
    yield text('b')
    yield stop
  })
  const node = await createAiNode({ providers: { acme }, ai: { heartbeatSeconds: 0.01 } })
  t.teardown(() => node.stop())
  const answer = await chat(await node.signIn(), { stream: true })
  let body = ''
  for await (const bytes of answer.body ?? []) {
    body += Buffer.from(bytes).toString()
    if (body.split(': ping').length > 3) pause.resolve()
  }
  t.match(
    body,
    /^(: ping\n\n)*data: {"chunk":"a"}\n\n(: ping\n\n){3,}data: {"chunk":"b"}\n\n(: ping\n\n)*data: \[DONE]\n\n$/,
  )
})

t.test('A connection serves one chat after the other', async (t) => {
  const acme = scripted((_request, signal) => {
    t.notOk(signal.aborted)
    return [text('x'), stop]
  })
  const node = await createAiNode({ providers: { acme } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (let n = 0; n < 20; n += 1) {
    const answer = await chat(ada, { stream: n % 2 === 0 })
    t.match(await answer.text(), n % 2 === 0 ? /^data: {"chunk":"x"}\n\ndata: \[DONE]\n\n$/ : /"content":"x"/)
  }
  t.ok(acme.calls.every(({ signal, returned }) => !signal.aborted && !returned))
})
