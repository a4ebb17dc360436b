import { NodekeepError } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { FairQueue, type QueueBounds } from '../../src/queue/fair-queue.ts'

const bounds: QueueBounds = { places: 4, queue: 100, queuePerUser: 100 }
const stays = new AbortController().signal

/** A queue whose tasks end when the test says so. */
function stand(changes: Partial<QueueBounds> = {}) {
  const queue = new FairQueue({ ...bounds, ...changes })
  const running = new Map<string, () => void>()
  const begun: string[] = []
  return {
    queue,
    /** The names of all that have begun, in their order. */
    begun,
    running,
    /** Calls for a user, who is the first letter of the name. */
    call(name: string, signal: AbortSignal = stays): Promise<string> {
      return queue.run(name[0] ?? '', signal, async () => {
        begun.push(name)
        const { promise, resolve } = Promise.withResolvers<void>()
        running.set(name, resolve)
        await promise
        running.delete(name)
        return name
      })
    },
    /** Ends a task, and lets what follows from it happen. */
    async end(name: string) {
      running.get(name)?.()
      await new Promise(setImmediate)
    },
  }
}

t.test('users take turns, each with the oldest of their calls', async (t) => {
  const { call, end, begun } = stand({ places: 1 })
  const calls = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => call(name))
  const order = ['a1', 'b1', 'c1', 'a2', 'b2', 'a3']
  for (const name of order) await end(name)
  t.strictSame(begun, order)
  t.strictSame(await Promise.all(calls), ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'])
})

t.test('somebody with many calls does not keep others waiting', async (t) => {
  const { call, end, begun } = stand({ places: 8 })
  for (let index = 0; index < 20; index += 1) call(`a${index}`)
  t.strictSame(begun, ['a0', 'a1', 'a2', 'a3'], 'four, as many as are left free')
  call('b0')
  t.equal(begun.at(-1), 'b0', 'at once, past those that wait')
  await end('a1')
  t.equal(begun.at(-1), 'a4')
})

t.test('of one user no more run than places are left, so that a newcomer finds one', async (t) => {
  const { call, begun, end } = stand({ places: 6 })
  for (let index = 0; index < 6; index += 1) call(`a${index}`)
  t.equal(begun.length, 3)
  for (let index = 0; index < 6; index += 1) call(`b${index}`)
  t.equal(begun.length, 5)
  call('c0')
  call('c1')
  t.equal(begun.at(-1), 'c0', 'the last place')
  call('d0')
  t.equal(begun.at(-1), 'c0', 'and now there is none')
  await end('a0')
  t.equal(begun.at(-1), 'd0', 'whose turn it is, of those who have nothing running')
  for (const name of ['a1', 'a2', 'b0', 'b1', 'c0', 'd0']) await end(name)
  t.ok(begun.includes('c1') && begun.includes('a3') && begun.includes('b2'), begun.join())
})

t.test('a place goes to the user who waits longest since a call of theirs began or ended', async (t) => {
  const { call, end, begun } = stand({ places: 2 })
  for (const name of ['a1', 'b1', 'a2', 'b2', 'c1']) call(name)
  t.strictSame(begun, ['a1', 'b1'])
  await end('a1')
  t.equal(begun.at(-1), 'c1', 'a call of a has just ended, and one of b still runs')
  await end('c1')
  t.equal(begun.at(-1), 'a2')
  call('c2')
  await end('b1')
  t.equal(begun.at(-1), 'c2', 'a call of b has just ended')
})

t.test(
  'one short call after the other waits for at most six places beside eight users with long calls',
  async (t) => {
    const { call, end, begun, running } = stand()
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
      t.ok(ended <= (round === 0 ? 6 : 5), `${ended} places became free before`)
      await end(`z${round}`)
      t.equal(running.size, 4, 'the place goes to a long call again')
    }
  },
)

t.test('a single place is used', async (t) => {
  const { call, end, begun } = stand({ places: 1 })
  const calls = [call('a1'), call('a2')]
  await end('a1')
  await end('a2')
  t.strictSame(await Promise.all(calls), begun)
})

t.test('what is too much is refused at once, and leaves nothing behind', async (t) => {
  const { call, end, begun } = stand({ places: 1, queue: 3, queuePerUser: 2 })
  const calls = ['a1', 'a2', 'a3', 'b1'].map((name) => call(name))
  for (const name of ['a4', 'b2', 'c1']) {
    await t.rejects(call(name), { code: 'TOO_MANY_REQUESTS', headers: { 'retry-after': '1' } }, name)
  }
  for (const name of ['a1', 'b1', 'a2', 'a3']) await end(name)
  await Promise.all(calls)
  call('a4')
  t.equal(begun.at(-1), 'a4')
})

t.test('a queue of length 0 runs what can begin', async (t) => {
  const { call, end } = stand({ places: 2, queue: 0, queuePerUser: 0 })
  const first = call('a1')
  await t.rejects(call('a2'), { code: 'TOO_MANY_REQUESTS' })
  await end('a1')
  t.equal(await first, 'a1')
})

t.test('who leaves is gone from the queue, and nobody else waits for them', async (t) => {
  const { call, end, begun } = stand({ places: 1, queue: 2 })
  const gone = new AbortController()
  call('a1')
  const left = call('a2', gone.signal)
  call('b1')
  await t.rejects(call('c1'), { code: 'TOO_MANY_REQUESTS' })
  gone.abort(new Error('left'))
  await t.rejects(left, { message: 'left' })
  call('c1')
  for (const name of ['a1', 'b1', 'c1']) await end(name)
  t.strictSame(begun, ['a1', 'b1', 'c1'])
  await t.rejects(call('a3', gone.signal), { message: 'left' }, 'who has left before is not let in')
})

t.test('who leaves in the moment in which it is their turn takes no place', async (t) => {
  const { call, end, begun, running } = stand({ places: 1 })
  const gone = new AbortController()
  call('a1')
  const late = call('a2', gone.signal)
  running.get('a1')?.()
  await Promise.resolve()
  gone.abort(new Error('left'))
  await Promise.race([late.catch(() => {}), new Promise(setImmediate)])
  await end('a2')
  call('a3')
  t.equal(begun.at(-1), 'a3')
})

t.test('a task that fails gives its place back', async (t) => {
  const queue = new FairQueue({ ...bounds, places: 1 })
  const fails = () => queue.run('a', stays, () => Promise.reject(new Error('trap')))
  const results = await Promise.allSettled([fails(), fails(), queue.run('b', stays, async () => 'well')])
  t.match(results, [{ status: 'rejected' }, { status: 'rejected' }, { value: 'well' }])
})

t.test('when it closes, what waits and what comes is refused, and what runs goes on', async (t) => {
  const { queue, call, end, begun } = stand({ places: 1 })
  const first = call('a1')
  const waiting = [call('a2'), call('b1')]
  queue.close(new NodekeepError('SERVICE_UNAVAILABLE', 'The node is stopping.'))
  for (const refused of [...waiting, call('c1')]) await t.rejects(refused, { code: 'SERVICE_UNAVAILABLE' })
  await end('a1')
  t.equal(await first, 'a1')
  t.strictSame(begun, ['a1'])
})
