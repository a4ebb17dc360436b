import t from 'tap'
import { startAiNode } from './fixtures/ai-node.ts'
import { chat, chatStreamed, usageOf } from './fixtures/chat.ts'

const { node, wires } = await startAiNode(t)
const text = ['Lima', ' 🙂 is', ' the capital of Perú.', '\n\ndata: [DONE]\n\n', '👩‍👩‍👧‍👦']
const usage = { inputTokens: 21, outputTokens: 13 }

t.test('the node lists the models of all providers', async (t) => {
  const ada = await node.signIn()
  const { providers } = (await (await ada.fetch('/api/ai/models')).json()) as { providers: object }
  const listed = Object.entries(providers).map(([name, models]) => [name, [...models].sort()])
  t.strictSame(
    Object.fromEntries(listed),
    Object.fromEntries(wires.map(({ provider, models }) => [provider, [...models].sort()])),
  )
})

for (const wire of wires) {
  t.test(`${wire.provider}: a reply is complete, streamed or not, even byte by byte`, async (t) => {
    for (const byteByByte of [false, true]) {
      const ada = await node.signIn()
      wire.server.play({ kind: 'reply', text, usage, finish: 'length', byteByByte })
      t.strictSame(await chatStreamed(ada, wire), { text: text.join(''), error: null, pings: 0 })
      t.strictSame(await (await chat(ada, wire)).json(), {
        message: { role: 'assistant', content: text.join('') },
        provider: wire.provider,
        model: wire.model,
        finishReason: 'length',
        usage,
      })
      const counted = { requests: 2, failed: 0, aborted: 0, estimated: 0 }
      t.strictSame(await usageOf(ada), [{ ...counted, inputTokens: 42, outputTokens: 26 }])
    }
  })

  t.test(`${wire.provider}: the chat reaches the server`, async (t) => {
    const ada = await node.signIn()
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello ☀' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'And?' },
    ]
    await chat(ada, wire, { messages, maxTokens: 77, stop: ['END'] })
    t.match(wire.server.received(), { model: wire.model, maxTokens: 77, stop: ['END'] })
    const received = wire.server.received()?.messages.map(({ role, content }) => ({
      role,
      content:
        typeof content === 'string'
          ? content
          : content.map((part) => ('text' in part ? part.text : '')).join(),
    }))
    t.strictSame(received, messages)
  })

  t.test(`${wire.provider}: thoughts in the text are no part of a reply`, async (t) => {
    const ada = await node.signIn()
    for (const byteByByte of [false, true]) {
      wire.server.play({
        kind: 'reply',
        text: ['<thi', 'nk>A capital?</think', '>\n\nLi', 'ma'],
        finish: 'stop',
        byteByByte,
      })
      t.match(await chatStreamed(ada, wire), { text: 'Lima', error: null })
    }
  })

  t.test(`${wire.provider}: an answer of 10 MB is complete`, async (t) => {
    const ada = await node.signIn()
    const piece = 'Nodekeep ✓ 😀\n'.repeat(64)
    const pieces = Array<string>(Math.ceil(10_000_000 / Buffer.byteLength(piece))).fill(piece)
    wire.server.play({ kind: 'reply', text: pieces, usage, finish: 'stop' })
    const { text: answer, error } = await chatStreamed(ada, wire)
    t.equal(error, null)
    t.ok(answer === pieces.join(''), `${answer.length} characters came`)
  })
}
