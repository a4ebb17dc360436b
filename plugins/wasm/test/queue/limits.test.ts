import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { createQueueNode } from '../fixtures/queue-stand.ts'
import { type Answer, callFile, post } from '../fixtures/wasm-node.ts'

/** Calls `hold`, and waits until this number of calls are refused: then all other calls run or wait. */
async function fill(user: Parameters<typeof callFile>[0], calls: number, refused: number) {
  const answers: Promise<Answer>[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const refusals: Answer[] = []
  for (let index = 0; index < calls; index += 1) {
    const answer = callFile(user, '/m.wasm', 'hold', [index])
    answers.push(answer)
    answer.then((response) => {
      if (response.status === 429 && refusals.push(response) === refused) resolve()
    })
  }
  await promise
  return { answers, refusals }
}

t.test('calls beyond the queue of a user or of all users get 429 with retry-after', async (t) => {
  const { runtime, users } = await createQueueNode(t, { queue: 3, queuePerUser: 2 }, 1)
  const [ada, bob, eve] = users
  const { answers, refusals } = await fill(ada, 5, 2)
  for (const refused of refusals) {
    t.match(refused, { status: 429, retryAfter: '1', body: { error: true, code: 'TOO_MANY_REQUESTS' } })
    t.match(refused.text, 'your calls')
  }
  const others = await fill(bob, 2, 1)
  t.match(others.refusals[0]?.text, 'on this node')
  t.equal((await callFile(eve, '/m.wasm', 'hold', [0])).status, 429)

  for (let count = 1; count <= 4; count += 1) (await runtime.waitForCall(count)).answer(7)
  const responses = await Promise.all([...answers, ...others.answers])
  t.strictSame(responses.map(({ status }) => status).sort(), [200, 200, 200, 200, 429, 429, 429])
  t.strictSame(
    responses.filter(({ status }) => status === 200).map(({ text }) => text),
    Array(4).fill('{"success":true,"result":7}'),
  )
})

/** A little more than the time of a turn. */
const turnMs = 310

t.test('users take turns, independent of the order and number of their calls', async (t) => {
  const { runtime, users } = await createQueueNode(t, { queuePerUser: 3 }, 1)
  const [ada, bob] = users
  const first = await fill(ada, 5, 1)
  const second = await fill(bob, 4, 1)
  for (let count = 1; count <= 7; count += 1) {
    const call = await runtime.waitForCall(count)
    if (count <= 4) await setTimeout(turnMs)
    call.answer(count)
  }
  await Promise.all([...first.answers, ...second.answers])
  t.equal(runtime.held.length, 7)
  // Both users have the same module, so the answers show the caller.
  const adas = (await Promise.all(first.answers)).flatMap(({ body }) => resultOf(body)).sort()
  t.strictSame(adas, [1, 3, 5, 6], 'two short calls of a user fit into one turn')
})

t.test('a user runs calls in half of the slots, and calls of others begin at once', async (t) => {
  const { runtime, users } = await createQueueNode(t, { queuePerUser: 1 }, 4)
  const [ada, bob] = users
  const adas = await fill(ada, 4, 1)
  await runtime.waitForCall(2)
  const bobs = callFile(bob, '/m.wasm', 'hold', [50])
  t.strictSame((await runtime.waitForCall(3)).args, [50])
  for (let count = 1; count <= 4; count += 1) (await runtime.waitForCall(count)).answer(count)
  await Promise.all([...adas.answers, bobs])
})

t.test('each call gets the limits of the configuration, in bytes', async (t) => {
  const wasm = { timeoutMs: 1234, memoryMB: 3, outputKB: 5 }
  const { runtime, users } = await createQueueNode(t, wasm)
  const answer = callFile(users[0], '/m.wasm', 'hold', [1])
  const call = await runtime.waitForCall(1)
  t.strictSame(call.limits, { timeoutMs: 1234, memoryBytes: 3 * 1024 * 1024, outputBytes: 5 * 1024 })
  call.answer(1)
  await answer
})

t.test('a client that closes its connection ends its run and leaves the queue', async (t) => {
  const { runtime, users } = await createQueueNode(t, {}, 1)
  const [ada, bob] = users
  const body = { filepath: '/m.wasm', function: 'hold', args: [1] }
  const controller = new AbortController()
  setMaxListeners(0, controller.signal)
  const aborted = Array.from({ length: 20 }, () =>
    post(ada, 'execute-file', body, { signal: controller.signal }),
  )
  await runtime.waitForCall(1)
  const other = callFile(bob, '/m.wasm', 'hold', [2])
  controller.abort()
  await Promise.allSettled(aborted)
  for (let count = 1; ; count += 1) {
    const { args, signal, answer } = await runtime.waitForCall(count)
    if (args[0] === 2) answer(2)
    if (args[0] === 2) break
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
  }
  t.equal((await other).text, '{"success":true,"result":2}')
})

t.test('calls that wait are refused when the node stops', async (t) => {
  const { runtime, node, users } = await createQueueNode(t, { queuePerUser: 1 }, 1)
  const { answers } = await fill(users[0], 3, 1)
  const held = await runtime.waitForCall(1)
  const stopped = node.stop()
  const waiting = await Promise.any(
    answers.map(async (answer) => {
      const response = await answer
      if (response.status !== 503) throw new Error('the answer is not 503')
      return response
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
