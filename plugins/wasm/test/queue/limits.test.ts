import { setMaxListeners } from 'node:events'
import t from 'tap'
import { createQueueStand } from '../fixtures/queue-stand.ts'
import { callFile, post, type Told } from '../fixtures/wasm-node.ts'

/** Calls `hold` so often, and waits until that many are refused: then all others are where they belong. */
async function fill(user: Parameters<typeof callFile>[0], calls: number, refused: number) {
  const answers: Promise<Told>[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const refusals: Told[] = []
  for (let index = 0; index < calls; index += 1) {
    const answer = callFile(user, '/m.wasm', 'hold', [index])
    answers.push(answer)
    answer.then((heard) => {
      if (heard.status === 429 && refusals.push(heard) === refused) resolve()
    })
  }
  await promise
  return { answers, refusals }
}

t.test('beyond the queue: 429 with retry-after, for the one user and for all', async (t) => {
  const { runtime, people } = await createQueueStand(t, { queue: 3, queuePerUser: 2 }, 1)
  const [ada, bob, eve] = people
  const { answers, refusals } = await fill(ada, 5, 2)
  for (const refused of refusals) {
    t.match(refused, { status: 429, retryAfter: '1', body: { error: true, code: 'TOO_MANY_REQUESTS' } })
    t.match(refused.text, 'your calls')
  }
  const others = await fill(bob, 2, 1)
  t.match(others.refusals[0]?.text, 'on this node')
  t.equal((await callFile(eve, '/m.wasm', 'hold', [0])).status, 429)

  for (let count = 1; count <= 4; count += 1) (await runtime.begun(count)).answer(7)
  const heard = await Promise.all([...answers, ...others.answers])
  t.strictSame(heard.map(({ status }) => status).sort(), [200, 200, 200, 200, 429, 429, 429])
  t.strictSame(
    heard.filter(({ status }) => status === 200).map(({ text }) => text),
    Array(4).fill('{"success":true,"result":7}'),
  )
})

t.test('people take turns, whoever came first and with how many calls', async (t) => {
  const { runtime, people } = await createQueueStand(t, { queuePerUser: 3 }, 1)
  const [ada, bob] = people
  const first = await fill(ada, 5, 1)
  const second = await fill(bob, 4, 1)
  const order: string[] = []
  for (let count = 1; count <= 7; count += 1) {
    const call = await runtime.begun(count)
    order.push(call.module.hash)
    call.answer(count)
  }
  await Promise.all([...first.answers, ...second.answers])
  t.equal(runtime.held.length, 7)
  // Both have the same module, so who calls is told by the answers.
  const adas = (await Promise.all(first.answers)).flatMap(({ body }) => resultOf(body)).sort()
  t.strictSame(adas, [1, 3, 5, 7])
})

t.test('one user runs half of the places at a time, while others begin at once', async (t) => {
  const { runtime, people } = await createQueueStand(t, { queuePerUser: 1 }, 4)
  const [ada, bob] = people
  const adas = await fill(ada, 4, 1)
  await runtime.begun(2)
  const bobs = callFile(bob, '/m.wasm', 'hold', [50])
  t.strictSame((await runtime.begun(3)).args, [50])
  for (let count = 1; count <= 4; count += 1) (await runtime.begun(count)).answer(count)
  await Promise.all([...adas.answers, bobs])
})

t.test('each call is told the limits of the configuration, in bytes', async (t) => {
  const wasm = { timeoutMs: 1234, memoryMB: 3, outputKB: 5 }
  const { runtime, people } = await createQueueStand(t, wasm)
  const answer = callFile(people[0], '/m.wasm', 'hold', [1])
  const call = await runtime.begun(1)
  t.strictSame(call.limits, { timeoutMs: 1234, memoryBytes: 3 * 1024 * 1024, outputBytes: 5 * 1024 })
  call.answer(1)
  await answer
})

t.test('who leaves ends their run and gives up their place in the queue', async (t) => {
  const { runtime, people } = await createQueueStand(t, {}, 1)
  const [ada, bob] = people
  const body = { filepath: '/m.wasm', function: 'hold', args: [1] }
  const gone = new AbortController()
  setMaxListeners(0, gone.signal)
  const left = Array.from({ length: 20 }, () => post(ada, 'execute-file', body, { signal: gone.signal }))
  await runtime.begun(1)
  const stays = callFile(bob, '/m.wasm', 'hold', [2])
  gone.abort()
  await Promise.allSettled(left)
  for (let count = 1; ; count += 1) {
    const { args, signal, answer } = await runtime.begun(count)
    if (args[0] === 2) answer(2)
    if (args[0] === 2) break
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  t.equal((await stays).text, '{"success":true,"result":2}')
})

t.test('when the node stops, what waits is told so', async (t) => {
  const { runtime, node, people } = await createQueueStand(t, { queuePerUser: 1 }, 1)
  const { answers } = await fill(people[0], 3, 1)
  const held = await runtime.begun(1)
  const stopped = node.stop()
  const waiting = await Promise.any(
    answers.map(async (answer) => {
      const heard = await answer
      if (heard.status !== 503) throw new Error('another one')
      return heard
    }),
  )
  t.match(waiting.body, { error: true, code: 'SERVICE_UNAVAILABLE' })
  held.answer(9)
  await stopped
  t.strictSame((await Promise.all(answers)).map(({ status }) => status).sort(), [200, 429, 503])
})

function resultOf(body: unknown): number[] {
  const { result } = body as { result?: number }
  return result === undefined ? [] : [result]
}
