import type { ModelScene } from '@nodekeep/plugin-sdk/conformance/ai'
import t, { type Test } from 'tap'
import { startAiNode } from './fixtures/ai-node.ts'
import { chat, chatStreamed, usageOf } from './fixtures/chat.ts'
import { until } from './fixtures/until.ts'
import type { Wire } from './fixtures/wires.ts'

/** An answer of the server before the first piece, the answer of the node to it, and the number of requests to the server. */
interface Refusal {
  readonly scene: ModelScene
  readonly status: number
  readonly code: string
  readonly requests: number
}

const refusals: readonly Refusal[] = [
  { scene: { kind: 'status', status: 400 }, status: 400, code: 'VALIDATION_ERROR', requests: 1 },
  { scene: { kind: 'status', status: 401 }, status: 502, code: 'UPSTREAM_ERROR', requests: 1 },
  { scene: { kind: 'status', status: 404 }, status: 404, code: 'NOT_FOUND', requests: 1 },
  { scene: { kind: 'status', status: 429 }, status: 429, code: 'TOO_MANY_REQUESTS', requests: 3 },
  {
    scene: { kind: 'status', status: 429, retryAfter: '60' },
    status: 429,
    code: 'TOO_MANY_REQUESTS',
    requests: 1,
  },
  { scene: { kind: 'status', status: 500 }, status: 502, code: 'UPSTREAM_ERROR', requests: 3 },
  { scene: { kind: 'garbage' }, status: 502, code: 'UPSTREAM_ERROR', requests: 3 },
  { scene: { kind: 'silence' }, status: 504, code: 'UPSTREAM_TIMEOUT', requests: 1 },
]

const texts = ['The capital', ' is']

/** Ways in which a reply is cut short. */
const breaks: readonly {
  readonly kind: 'cut' | 'unfinished' | 'failure' | 'stall'
  readonly status: number
}[] = [
  { kind: 'cut', status: 502 },
  { kind: 'unfinished', status: 502 },
  { kind: 'failure', status: 502 },
  { kind: 'stall', status: 504 },
]

const timeouts = { firstSeconds: 1, betweenSeconds: 0.5 }
const { node, wires, log } = await startAiNode(t, { timeouts, retries: { max: 2, firstDelayMs: 1 } })
// The first chat loads the SDKs, and the loading must not count against the timeouts of the tests.
const first = await node.signIn()
for (const wire of wires) await chat(first, wire)

// The tests run concurrently, because they mostly wait for these timeouts.
t.jobs = wires.length
const tests = wires.map((wire) =>
  t.test(wire.provider, async (t) => {
    await t.test('a refusal becomes an HTTP error, after retries if they may help', async (t) => {
      for (const stream of [true, false]) {
        for (const refusal of refusals) await checkRefusal(t, wire, stream, refusal)
      }
    })
    await t.test('a reply that is cut short ends with an error and never looks complete', async (t) => {
      for (const { kind, status } of breaks) await checkBreak(t, wire, kind, status)
    })
    await t.test('a failed chat does not affect the next one', async (t) => {
      wire.server.play({ kind: 'reply', text: ['Lima'], finish: 'stop' })
      t.equal((await chatStreamed(await node.signIn(), wire)).text, 'Lima')
    })
    await t.test('a server that has stopped is an upstream error', async (t) => {
      await wire.stop()
      const answer = await chat(await node.signIn(), wire, { stream: true })
      t.equal(answer.status, 502)
      t.match(await answer.json(), { error: true, code: 'UPSTREAM_ERROR' })
    })
  }),
)
await Promise.all(tests)

t.test('the log contains no key', async (t) => {
  for (const { key } of wires) t.notOk(key !== undefined && log.join('\n').includes(key))
})

async function checkRefusal(t: Test, wire: Wire, stream: boolean, refusal: Refusal): Promise<void> {
  const { scene, status, code, requests } = refusal
  const { server, models, key } = wire
  const name = `${JSON.stringify(scene)} ${stream ? 'streamed' : 'whole'}`
  const ada = await node.signIn()
  const before = server.chats()
  server.play(scene)
  const answer = await chat(ada, wire, { stream })
  const text = await answer.text()
  t.equal(answer.status, status, name)
  t.match(JSON.parse(text), { error: true, code }, name)
  t.strictSame(Object.keys(JSON.parse(text)).sort(), ['code', 'error', 'message'], name)
  t.notOk(key !== undefined && text.includes(key), `${name}: the answer does not contain the key`)
  t.equal(server.chats() - before, requests, `${name}: requests`)
  if (scene.kind === 'status' && scene.retryAfter)
    t.equal(answer.headers.get('retry-after'), scene.retryAfter)
  if (status === 404) for (const model of models) t.ok(text.includes(model), `${name}: names ${model}`)
  await until(() => server.openChats() === 0)
  t.match(await usageOf(ada), [{ requests: 1, failed: 1, aborted: 0, outputTokens: 0 }], name)
}

async function checkBreak(t: Test, wire: Wire, kind: (typeof breaks)[number]['kind'], status: number) {
  const { server } = wire
  const ada = await node.signIn()
  const before = server.chats()
  server.play({ kind, text: texts })
  const { text, error } = await chatStreamed(ada, wire)
  const code = status === 504 ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_ERROR'
  t.match(error, { chunk: '', error: true, code }, kind)
  t.ok(text !== '' && texts.join('').startsWith(text), `${kind}: "${text}" came before the error`)
  t.equal(server.chats(), before + 1, `${kind}: the node does not retry after the first text`)
  t.equal((await chat(ada, wire)).status, status, `${kind}: not streamed`)
  await until(() => server.openChats() === 0)
  const [row] = await usageOf(ada)
  t.match(row, { requests: 2, failed: 2, aborted: 0, estimated: 2 }, kind)
  t.ok(Number(row?.inputTokens) > 0 && Number(row?.outputTokens) > 0, `${kind}: the texts are counted`)
}
