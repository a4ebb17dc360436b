import t from 'tap'
import { startAiNode } from './fixtures/ai-node.ts'
import { chatStreamed, usageOf } from './fixtures/chat.ts'

const { node, wires } = await startAiNode(t)

for (const wire of wires) {
  t.test(`${wire.provider}: 200 concurrent streams are complete and separate`, async (t) => {
    const ada = await node.signIn()
    const text = Array.from({ length: 50 }, (_, piece) => `${piece} `)
    wire.server.play({ kind: 'reply', text, usage: { inputTokens: 1, outputTokens: 2 }, finish: 'stop' })
    const answers = await Promise.all(Array.from({ length: 200 }, () => chatStreamed(ada, wire)))
    t.equal(answers.filter((answer) => answer.text === text.join('') && answer.error === null).length, 200)
    t.match(await usageOf(ada), [{ requests: 200, failed: 0, inputTokens: 200, outputTokens: 400 }])
    t.equal(wire.server.openChats(), 0)
  })
}
