import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'

t.test('An answer of 10 MB arrives whole, streamed or not, in large or small pieces', async (t) => {
  const content = 'Nodekeep ✓ 😀\n'.repeat(555_556)
  const pieces = (size: number) =>
    function* () {
      for (let at = 0; at < content.length; at += size) yield text(content.slice(at, at + size))
      yield stop
    }
  const providers = { one: scripted(pieces(content.length)), many: scripted(pieces(499)) }
  const node = await createAiNode({ providers })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  t.ok(Buffer.byteLength(content) > 10_000_000)
  for (const provider of ['one', 'many']) {
    const answer = readEvents(await (await chat(ada, { provider, stream: true })).text())
    t.ok(answer.text === content, `${provider}: the streamed answer`)
    const whole = (await (await chat(ada, { provider })).json()) as { message: { content: string } }
    t.ok(whole.message.content === content, `${provider}: the whole answer`)
  }
})

t.test('A reply that is too long is cut off with an error', async (t) => {
  const acme = scripted(function* () {
    for (;;) yield text('é'.repeat(100))
  })
  const node = await createAiNode({ providers: { acme }, ai: { maxReplyBytes: 10_000 } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const answer = readEvents(await (await chat(ada, { stream: true })).text())
  t.equal(answer.text.length, 5000)
  t.match(answer.error, { code: 'UPSTREAM_ERROR', message: /too long \(ai\.maxReplyBytes\)/ })
  t.ok(acme.last.signal.aborted)
  t.ok(acme.last.returned)
  const whole = await chat(ada)
  t.equal(whole.status, 502)
})

t.test('200 concurrent streams arrive whole and do not mix', async (t) => {
  let running = 0
  const gate = Promise.withResolvers<void>()
  const acme = scripted(async function* ({ model }) {
    running += 1
    if (running === 200) gate.resolve()
    await gate.promise
    for (let n = 0; n < 200; n += 1) {
      yield text(`${model}:${n} `)
      if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
    yield stop
  })
  const limits = { chatsPerUser: 200, requestsPerMinute: 200 }
  const node = await createAiNode({ providers: { acme }, ai: { limits } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const numbers = Array.from({ length: 200 }, (_, n) => n)
  const answers = await Promise.all(
    numbers.map(async (n) => readEvents(await (await chat(ada, { model: `m${n}`, stream: true })).text())),
  )
  for (const [n, { text }] of answers.entries()) {
    if (text !== numbers.map((piece) => `m${n}:${piece} `).join(''))
      t.fail(`Stream ${n} has the content of another stream.`)
  }
  t.equal(answers.length, 200)
})
