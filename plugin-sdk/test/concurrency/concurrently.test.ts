import { setImmediate as turn } from 'node:timers/promises'
import { concurrently } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('a few items at a time are worked on, of lists and of streams', async (t) => {
  async function* stream() {
    yield* [1, 2, 3, 4, 5]
  }
  for (const items of [[1, 2, 3, 4, 5], stream()]) {
    const done: number[] = []
    let [running, most] = [0, 0]
    await concurrently(items, 2, async (item) => {
      running += 1
      most = Math.max(most, running)
      await turn()
      running -= 1
      done.push(item)
    })
    t.strictSame([done, most], [[1, 2, 3, 4, 5], 2])
  }
})

test('after a failure nothing begins, the others learn of it, and nothing runs on', async (t) => {
  const begun: number[] = []
  let ended = 0
  const all = concurrently([1, 2, 3, 4], 2, async (item, failed) => {
    begun.push(item)
    if (item === 2) throw new Error('broken')
    while (!failed.aborted) await turn()
    await turn()
    ended += 1
  })
  await t.rejects(all, { message: 'broken' })
  t.strictSame([begun, ended], [[1, 2], 1])
})

test('a failure of the items themselves waits for the work that runs', async (t) => {
  let ended = false
  function* items() {
    yield 1
    throw new Error('no more')
  }
  const all = concurrently(items(), 2, async () => {
    await turn()
    ended = true
  })
  await t.rejects(all, { message: 'no more' })
  t.ok(ended)
})
