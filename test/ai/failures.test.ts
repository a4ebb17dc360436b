import type { ModelScene } from '@nodekeep/plugin-sdk/conformance/ai'
import t, { type Test } from 'tap'
import { ask, askStreamed, usageOf } from './fixtures/asking.ts'
import { startStand } from './fixtures/stand.ts'
import { until } from './fixtures/until.ts'
import type { Wire } from './fixtures/wires.ts'

/** An answer of the server before the first piece, what becomes of it, and how often the server is asked. */
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

const said = ['The capital', ' is']

/** Ways in which a reply breaks off. */
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
const { node, wires, log } = await startStand(t, { timeouts, retries: { max: 2, firstDelayMs: 1 } })
// The SDKs are loaded with the first chat, which is no matter of the time limits here.
const first = await node.signIn()
for (const wire of wires) await ask(first, wire)

// Most of the time is spent in waiting for these limits.
t.jobs = wires.length
const tests = wires.map((wire) =>
  t.test(wire.provider, async (t) => {
    await t.test('refusals are HTTP errors, and asked again where that may help', async (t) => {
      for (const stream of [true, false]) {
        for (const refusal of refusals) await isRefused(t, wire, stream, refusal)
      }
    })
    await t.test('a reply that breaks off ends with an error, never as if it were whole', async (t) => {
      for (const { kind, status } of breaks) await breaksOff(t, wire, kind, status)
    })
    await t.test('what is over does not spoil what follows', async (t) => {
      wire.server.play({ kind: 'reply', text: ['Lima'], finish: 'stop' })
      t.equal((await askStreamed(await node.signIn(), wire)).text, 'Lima')
    })
    await t.test('a server that is gone is an upstream error', async (t) => {
      await wire.stop()
      const answer = await ask(await node.signIn(), wire, { stream: true })
      t.equal(answer.status, 502)
      t.match(await answer.json(), { error: true, code: 'UPSTREAM_ERROR' })
    })
  }),
)
await Promise.all(tests)

t.test('no key was logged', async (t) => {
  for (const { key } of wires) t.notOk(key !== undefined && log.join('\n').includes(key))
})

async function isRefused(t: Test, wire: Wire, stream: boolean, refusal: Refusal): Promise<void> {
  const { scene, status, code, requests } = refusal
  const { server, models, key } = wire
  const what = `${JSON.stringify(scene)} ${stream ? 'streamed' : 'whole'}`
  const ada = await node.signIn()
  const before = server.chats()
  server.play(scene)
  const answer = await ask(ada, wire, { stream })
  const text = await answer.text()
  t.equal(answer.status, status, what)
  t.match(JSON.parse(text), { error: true, code }, what)
  t.strictSame(Object.keys(JSON.parse(text)).sort(), ['code', 'error', 'message'], what)
  t.notOk(key !== undefined && text.includes(key), `${what}: the key is not told`)
  t.equal(server.chats() - before, requests, `${what}: requests`)
  if (scene.kind === 'status' && scene.retryAfter)
    t.equal(answer.headers.get('retry-after'), scene.retryAfter)
  if (status === 404) for (const model of models) t.ok(text.includes(model), `${what}: names ${model}`)
  await until(() => server.openChats() === 0)
  t.match(await usageOf(ada), [{ requests: 1, failed: 1, aborted: 0, outputTokens: 0 }], what)
}

async function breaksOff(t: Test, wire: Wire, kind: (typeof breaks)[number]['kind'], status: number) {
  const { server } = wire
  const ada = await node.signIn()
  const before = server.chats()
  server.play({ kind, text: said })
  const { text, error } = await askStreamed(ada, wire)
  const code = status === 504 ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_ERROR'
  t.match(error, { chunk: '', error: true, code }, kind)
  t.ok(text !== '' && said.join('').startsWith(text), `${kind}: "${text}" came before`)
  t.equal(server.chats(), before + 1, `${kind}: nobody is asked again once something was said`)
  t.equal((await ask(ada, wire)).status, status, `${kind}: not streamed`)
  await until(() => server.openChats() === 0)
  const [row] = await usageOf(ada)
  t.match(row, { requests: 2, failed: 2, aborted: 0, estimated: 2 }, kind)
  t.ok(Number(row?.inputTokens) > 0 && Number(row?.outputTokens) > 0, `${kind}: what was said is counted`)
}
