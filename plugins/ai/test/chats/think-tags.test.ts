import t from 'tap'
import { chat, createAiNode, usageOf } from '../fixtures/ai-node.ts'
import { captureChats } from '../fixtures/captured-chats.ts'
import { readEvents } from '../fixtures/events.ts'
import { scripted, stop, text } from '../fixtures/scripted-provider.ts'

const call = { type: 'tool_call', index: 0, id: 'c1', name: 'clock', arguments: '{}' } as const

/** The pieces of the next reply. */
let pieces: object[] = []
const acme = scripted(() => [...pieces, stop], { supports: { tools: true } })
const captured = captureChats()
const node = await createAiNode({
  providers: { acme },
  plugins: [captured.plugin],
  ai: { limits: { requestsPerMinute: 10_000 } },
})
t.teardown(() => node.stop())
const ada = await node.signIn()

async function replyOf(...texts: string[]): Promise<string> {
  pieces = texts.map(text)
  const { text: streamed, error } = readEvents(await (await chat(ada, { stream: true })).text())
  if (error !== null) throw new Error(error.message)
  return streamed
}

t.test(
  'thoughts between tags at the beginning are no part of a reply, at every split of the text',
  async (t) => {
    const whole = '\n <think>A </capital?\n<think></think>\n\n<think></think> Lima 🙂 <think>is</think>'
    const expected = 'Lima 🙂 <think>is</think>'
    const letters = [...whole]
    for (let at = 0; at <= letters.length; at += 1) {
      const said = await replyOf(letters.slice(0, at).join(''), letters.slice(at).join(''))
      if (said !== expected) t.equal(said, expected, `split at ${at}`)
    }
    t.equal(await replyOf(...letters), expected, 'in single characters')
    pieces = [text(whole)]
    t.match(await (await chat(ada)).json(), { message: { content: expected } })
  },
)

t.test('a text that only resembles a tag is text', async (t) => {
  for (const said of [
    '<',
    '<think',
    ' <th',
    '<thinking>',
    '<Think>Lima',
    'Write <think>, then </think>.',
    '</think>Lima',
    `${' '.repeat(100)}<think>Lima`,
    '\n\n  indented',
  ]) {
    t.equal(await replyOf(said), said)
    t.equal(await replyOf(...said), said, 'in single characters')
  }
})

t.test('thoughts that do not end leave an empty reply, and count as output', async (t) => {
  const eve = await node.signIn()
  pieces = [text(`<think>${'Peru? '.repeat(100)}`)]
  const { message } = (await (await chat(eve)).json()) as { message: { content: string } }
  t.equal(message.content, '')
  const [row] = (await usageOf(eve)) as { outputTokens: number }[]
  t.ok((row?.outputTokens ?? 0) > 100, `${row?.outputTokens} tokens`)
})

t.test('a text before a tool call is not held back behind it', async (t) => {
  pieces = [text('<th'), call, text('ink>')]
  const messages = [{ role: 'user', content: 'What time is it?' }] as const
  const query = { provider: 'acme', model: 'large', messages, tools: [{ name: 'clock', parameters: {} }] }
  const { deltas } = await captured.chats.start(ada.user.uuid, query, new AbortController().signal)
  t.strictSame(await Array.fromAsync(deltas), [text('<th'), call, text('ink>'), stop])
})
