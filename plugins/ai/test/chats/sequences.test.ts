import fc from 'fast-check'
import t from 'tap'
import { chat, createAiNode } from '../fixtures/ai-node.ts'
import { readEvents } from '../fixtures/events.ts'
import { scripted } from '../fixtures/scripted-provider.ts'

const good = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('text'), text: fc.string({ unit: 'binary' }) }) },
  fc.record({ type: fc.constant('reasoning'), text: fc.string() }),
  fc.record({ type: fc.constant('usage'), inputTokens: fc.nat(), outputTokens: fc.nat() }),
  fc.record({
    type: fc.constant('tool_call'),
    index: fc.nat(3),
    id: fc.constant('call'),
    name: fc.constant('tool'),
  }),
)
const finish = fc.record({ type: fc.constant('finish'), reason: fc.constantFrom('stop', 'length') })
const bad = fc.oneof(
  fc.constantFrom(null, undefined, 'x', 4),
  fc.record({ type: fc.constantFrom('text', 'reasoning', 'usage', 'finish', 'other'), text: fc.integer() }),
)
const piece = fc.oneof({ weight: 12, arbitrary: good }, { weight: 2, arbitrary: finish }, bad)

/** The pieces that the provider yields, each with the wait before it. */
const scripts = fc.array(fc.tuple(piece, fc.constantFrom('now', 'soon', 'later')), { maxLength: 30 })

interface Piece {
  readonly type?: unknown
  readonly text?: unknown
}

/** Returns the expected text, up to the piece that ends the reply, and whether that piece is `finish`. */
function expected(pieces: readonly unknown[]) {
  let text = ''
  for (const piece of pieces) {
    const { type, text: more } = (piece ?? {}) as Piece
    if (type === 'text' && typeof more === 'string') text += more
    else if (type === 'finish' && 'reason' in (piece as object)) return { text, whole: true }
    else if (type === 'reasoning' && typeof more === 'string') continue
    else if (type !== 'tool_call' && !(type === 'usage' && 'inputTokens' in (piece as object))) break
  }
  return { text, whole: false }
}

t.test('Every sequence of pieces gives the expected answer', async (t) => {
  let script: readonly (readonly [unknown, string])[] = []
  const acme = scripted(async function* () {
    for (const [piece, pace] of script) {
      if (pace === 'soon') await null
      if (pace === 'later') await new Promise((resolve) => setImmediate(resolve))
      yield piece
    }
  })
  const limits = { requestsPerMinute: 100_000 }
  const node = await createAiNode({ providers: { acme }, ai: { limits, retries: { max: 0 } } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const property = fc.asyncProperty(scripts, async (pieces) => {
    script = pieces
    const { text, whole } = expected(pieces.map(([piece]) => piece))
    const streamed = await chat(ada, { stream: true })
    const unstreamed = await chat(ada)
    if (streamed.status === 200) {
      const answer = readEvents(await streamed.text())
      if (answer.text !== text.toWellFormed() && answer.text !== text)
        throw new Error(`streamed: ${answer.text}`)
      if ((answer.error === null) !== whole) throw new Error(`ended: ${answer.error?.message}`)
    } else {
      const { code } = (await streamed.json()) as { code: string }
      if (streamed.status !== 502 || code !== 'UPSTREAM_ERROR' || whole || text !== '') {
        throw new Error(`refused with ${streamed.status} ${code}`)
      }
    }
    const answer = (await unstreamed.json()) as { message: { content: string } }
    if ((unstreamed.status === 200) !== whole) throw new Error(`whole: ${unstreamed.status}`)
    if (whole && answer.message.content !== text) throw new Error(`whole: ${answer.message.content}`)
  })
  await fc.assert(property, { numRuns: 50 })
  t.pass()
})
