import t from 'tap'
import { ArchiveMemory } from '../../src/http/archive-memory.ts'

/** Takes memory for an archive, which ends when it is told or broken off. */
function taking(memory: ArchiveMemory, user: string, bytes: number) {
  const end = new AbortController()
  const { signal } = end
  const share = memory.take({ user, bytes, signal, breakOff: () => end.abort('broken off') })
  return { share, end: () => end.abort(), isBroken: () => signal.reason === 'broken off' }
}

t.test('the user who holds least is next, and a large archive does not hold up smaller ones', async (t) => {
  const memory = new ArchiveMemory({ most: 300, small: 0 })
  const [one, two, three] = [0, 1, 2].map(() => taking(memory, 'ada', 100))
  await Promise.all([one?.share, two?.share, three?.share])
  const order: string[] = []
  const waiting = Object.entries({ ada: 100, bob: 300, cleo: 100 }).map(([user, bytes]) => {
    const taken = taking(memory, user, bytes)
    taken.share.then(
      () => order.push(user),
      () => order.push(`${user} left`),
    )
    return taken
  })
  one?.end()
  await waiting[2]?.share
  t.strictSame(order, ['cleo'])
  two?.end()
  await waiting[0]?.share
  t.strictSame(order, ['cleo', 'ada'])
  for (const { end } of [three, waiting[0], waiting[2]].filter((taken) => taken !== undefined)) end()
  await waiting[1]?.share
  t.strictSame(order, ['cleo', 'ada', 'bob'])

  const left = taking(memory, 'dan', 1)
  left.end()
  await t.rejects(left.share, { code: 'TOO_MANY_REQUESTS' }, 'a client that leaves does not wait')
  waiting[1]?.end()
})

t.test('those are broken off first that have taken nothing for the longest time', async (t) => {
  const memory = new ArchiveMemory({ most: 300, small: 10, stalledMs: 60_000 })
  const minutesAgo = (minutes: number) => performance.now() - minutes * 60_000
  const taken = [100, 100, 100, 10].map((bytes) => taking(memory, 'ada', bytes))
  const shares = await Promise.all(taken.map(({ share }) => share))
  for (const [n, minutes] of [2, 3, 0.5, 9].entries())
    Object.assign(shares[n] ?? {}, { untakenSince: minutesAgo(minutes) })
  const broken = () => taken.map(({ isBroken }) => isBroken())

  await taking(memory, 'bob', 100).share
  t.strictSame(broken(), [false, true, false, false])
  const two = taking(memory, 'bob', 200)
  t.strictSame(broken(), [false, true, false, false], 'none is broken off in vain')
  await taking(memory, 'cleo', 100).share
  t.strictSame(broken(), [true, true, false, false])
  await taking(memory, 'cleo', 10).share
  two.end()
  await t.rejects(two.share)
  await t.rejects(taking(memory, 'ada', 301).share, { code: 'PAYLOAD_TOO_LARGE' })
})
