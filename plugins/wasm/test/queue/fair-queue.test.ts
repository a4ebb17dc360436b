import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { FairQueue, type FairQueueOptions } from '../../src/queue/fair-queue.ts'

/** Each call takes a whole turn. */
const options: FairQueueOptions = { slots: 4, queue: 100, queuePerUser: 100, turnMs: 0 }
const neverAborted = new AbortController().signal

/** Creates a queue whose tasks end when the test calls `end`. */
function createQueue(changes: Partial<FairQueueOptions> = {}) {
  const queue = new FairQueue({ ...options, ...changes })
  const running = new Map<string, () => void>()
  const begun: string[] = []
  return {
    queue,
    /** The names of all calls that have begun, in order. */
    begun,
    running,
    /** Calls for the user whose name is the first letter of the call's name. */
    call(name: string, signal: AbortSignal = neverAborted): Promise<string> {
      return queue.run(name[0] ?? '', signal, async () => {
        begun.push(name)
        const { promise, resolve } = Promise.withResolvers<void>()
        running.set(name, resolve)
        await promise
        running.delete(name)
        return name
      })
    },
    /** Ends a task, and waits for the effects. */
    async end(name: string) {
      running.get(name)?.()
      await new Promise(setImmediate)
    },
  }
}

t.test('users take turns, each with their oldest call', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1 })
  const calls = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => call(name))
  const order = ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']
  for (const name of order) await end(name)
  t.strictSame(begun, order)
  t.strictSame(await Promise.all(calls), ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'])
})

t.test('a user with many calls does not make others wait', async (t) => {
  const { call, end, begun } = createQueue({ slots: 8 })
  for (let index = 0; index < 20; index += 1) call(`a${index}`)
  t.strictSame(begun, ['a0', 'a1', 'a2', 'a3'], 'the user runs four calls, as many as there are free slots')
  call('b0')
  t.equal(begun.at(-1), 'b0', 'the call begins at once, before the waiting ones')
  await end('a1')
  t.equal(begun.at(-1), 'a4')
})

t.test(
  'a user runs at most as many calls as there are free slots, so that a new user finds one',
  async (t) => {
    const { call, begun, end } = createQueue({ slots: 6 })
    for (let index = 0; index < 6; index += 1) call(`a${index}`)
    t.equal(begun.length, 3)
    for (let index = 0; index < 6; index += 1) call(`b${index}`)
    t.equal(begun.length, 5)
    call('c0')
    call('c1')
    t.equal(begun.at(-1), 'c0', 'the call takes the last slot')
    call('d0')
    t.equal(begun.at(-1), 'c0', 'no slot is free')
    await end('a0')
    t.equal(begun.at(-1), 'd0', 'the user without running calls is next')
    for (const name of ['a1', 'a2', 'b0', 'b1', 'c0', 'd0']) await end(name)
    t.ok(begun.includes('c1') && begun.includes('a3') && begun.includes('b2'), begun.join())
  },
)

t.test('users without running calls come before users whose turn is first', async (t) => {
  const { call, end, begun } = createQueue({ slots: 4 })
  for (const name of ['a1', 'a2', 'b1', 'c1', 'd1', 'a3']) call(name)
  t.strictSame(begun, ['a1', 'a2', 'b1', 'c1'])
  call('e1')
  await end('b1')
  t.equal(begun.at(-1), 'd1')
  await end('c1')
  t.equal(begun.at(-1), 'e1')
})

t.test('a user has several short calls in one turn', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1, turnMs: 60_000 })
  for (const name of ['a1', 'b1', 'a2', 'a3', 'b2']) call(name)
  const order = ['a1', 'a2', 'a3', 'b1', 'b2']
  for (const name of order) await end(name)
  t.strictSame(begun, order)
})

t.test('a user who had no calls for a while keeps the turn', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1, turnMs: 60_000 })
  call('a1')
  await end('a1')
  for (const name of ['b1', 'b2', 'a2']) call(name)
  await end('b1')
  t.equal(begun.at(-1), 'a2')
})

t.test('a turn ends when the calls have used its time, however they came', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1, turnMs: 20 })
  const began = performance.now()
  call('a1')
  for (const name of ['b1', 'a2', 'a3']) call(name)
  while (performance.now() - began < 21) await new Promise(setImmediate)
  await end('a1')
  t.equal(begun.at(-1), 'b1')
  await end('b1')
  t.equal(begun.at(-1), 'a2', 'nobody else waits')
})

t.test('a call that fails ends the turn of its user', async (t) => {
  const queue = new FairQueue({ ...options, slots: 1, turnMs: 60_000 })
  const begun: string[] = []
  const calls = ['a1', 'a2', 'b1'].map((name) =>
    queue.run(name[0] ?? '', neverAborted, async () => {
      begun.push(name)
      if (name === 'a1') throw new Error('trap')
    }),
  )
  await Promise.allSettled(calls)
  t.strictSame(begun, ['a1', 'b1', 'a2'])
})

t.test(
  'each of several calls that take a turn waits for at most six slots while eight users have long calls',
  async (t) => {
    const { call, end, begun, running } = createQueue()
    for (const user of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
      for (let n = 0; n < 9; n += 1) call(`${user}${n}`)
    t.equal(begun.length, 4)
    for (let round = 0; round < 6; round += 1) {
      call(`z${round}`)
      let ended = 0
      for (; begun.at(-1) !== `z${round}`; ended += 1) {
        const [oldest = ''] = running.keys()
        await end(oldest)
      }
      t.ok(ended <= (round === 0 ? 6 : 5), `${ended} slots became free before the call began`)
      await end(`z${round}`)
      t.equal(running.size, 4, 'a long call takes the slot again')
    }
  },
)

t.test('a queue with a single slot runs one call after the other', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1 })
  const calls = [call('a1'), call('a2')]
  await end('a1')
  await end('a2')
  t.strictSame(await Promise.all(calls), begun)
})

t.test('the queue refuses calls beyond its length at once, and keeps no trace of them', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1, queue: 3, queuePerUser: 2 })
  const calls = ['a1', 'a2', 'a3', 'b1'].map((name) => call(name))
  for (const name of ['a4', 'b2', 'c1']) {
    await t.rejects(call(name), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '1' } }, name)
  }
  for (const name of ['a1', 'b1', 'a2', 'a3']) await end(name)
  await Promise.all(calls)
  call('a4')
  t.equal(begun.at(-1), 'a4')
})

t.test('a queue of length 0 runs the calls that can begin', async (t) => {
  const { call, end } = createQueue({ slots: 2, queue: 0, queuePerUser: 0 })
  const first = call('a1')
  await t.rejects(call('a2'), { code: 'TOO_MANY_REQUESTS' })
  await end('a1')
  t.equal(await first, 'a1')
})

t.test('an aborted call is removed from the queue, and no other call waits for it', async (t) => {
  const { call, end, begun } = createQueue({ slots: 1, queue: 2 })
  const controller = new AbortController()
  call('a1')
  const aborted = call('a2', controller.signal)
  call('b1')
  await t.rejects(call('c1'), { code: 'TOO_MANY_REQUESTS' })
  controller.abort(new Error('aborted'))
  await t.rejects(aborted, { message: 'aborted' })
  call('c1')
  for (const name of ['a1', 'b1', 'c1']) await end(name)
  t.strictSame(begun, ['a1', 'b1', 'c1'])
  await t.rejects(
    call('a3', controller.signal),
    { message: 'aborted' },
    'a call with an aborted signal is refused',
  )
})

t.test('a call that is aborted just as its turn comes takes no slot', async (t) => {
  const { call, end, begun, running } = createQueue({ slots: 1 })
  const controller = new AbortController()
  call('a1')
  const late = call('a2', controller.signal)
  running.get('a1')?.()
  await Promise.resolve()
  controller.abort(new Error('aborted'))
  await Promise.race([late.catch(() => {}), new Promise(setImmediate)])
  await end('a2')
  call('a3')
  t.equal(begun.at(-1), 'a3')
})

t.test('a task that fails frees its slot', async (t) => {
  const queue = new FairQueue({ ...options, slots: 1 })
  const fails = () => queue.run('a', neverAborted, () => Promise.reject(new Error('trap')))
  const results = await Promise.allSettled([
    fails(),
    fails(),
    queue.run('b', neverAborted, async () => 'well'),
  ])
  t.match(results, [{ status: 'rejected' }, { status: 'rejected' }, { value: 'well' }])
})

t.test('a queue that closes refuses waiting and new calls, and running calls continue', async (t) => {
  const { queue, call, end, begun } = createQueue({ slots: 1 })
  const first = call('a1')
  const waiting = [call('a2'), call('b1')]
  queue.close(new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping.'))
  for (const refused of [...waiting, call('c1')]) await t.rejects(refused, { code: 'SERVICE_UNAVAILABLE' })
  await end('a1')
  t.equal(await first, 'a1')
  t.strictSame(begun, ['a1'])
})
