import { setImmediate as turn } from 'node:timers/promises'
import { FairSlots } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** Work that runs until it is told to end. */
function started(slots: FairSlots, begun: string[]) {
  const ends = new Map<string, () => void>()
  const start = (key: string, name: string) =>
    slots.run(key, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
    })
  return { start, end: (name: string) => ends.get(name)?.() }
}

test('a key has at most its own number of slots, and begins in the order of the calls', async (t) => {
  const slots = new FairSlots({ mostPerKey: 2 })
  const begun: string[] = []
  const { start, end } = started(slots, begun)
  const all = ['a1', 'a2', 'a3', 'b1'].map((name) => start(name.slice(0, 1), name))
  await turn()
  t.strictSame(begun, ['a1', 'a2', 'b1'])
  t.strictSame([slots.isFull('a'), slots.isFull('b'), slots.isFull('c')], [true, false, false])
  end('a2')
  await all[1]
  await turn()
  t.strictSame(begun, ['a1', 'a2', 'b1', 'a3'])
  for (const name of ['a1', 'a3', 'b1']) end(name)
  await Promise.all(all)
  t.equal(slots.isFull('a'), false)
})

test('keys take free slots in turn, so that many calls of one delay only that one', async (t) => {
  const slots = new FairSlots({ most: 2, mostPerKey: 2 })
  const begun: string[] = []
  const { start, end } = started(slots, begun)
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2'].map((name) => start(name.slice(0, 1), name))
  for (let next = 0; next < all.length; next += 1) {
    await turn()
    end(begun[next] ?? '')
    await turn()
  }
  await Promise.all(all)
  t.strictSame(begun, ['a1', 'a2', 'a3', 'b1', 'a4', 'b2'])
})

test('work that fails gives its slot back and its error on', async (t) => {
  const slots = new FairSlots({ mostPerKey: 1 })
  const failed = slots.run('a', () => Promise.reject(new Error('broken')))
  const next = slots.run('a', async () => 'done')
  await t.rejects(failed, { message: 'broken' })
  t.equal(await next, 'done')
})
