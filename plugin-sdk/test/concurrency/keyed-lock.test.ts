import { setImmediate as turn } from 'node:timers/promises'
import { KeyedLock } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'

test('Tasks on different keys run at the same time', async (t) => {
  const lock = new KeyedLock()
  const second = Promise.withResolvers<void>()
  const first = lock.run(['a'], () => second.promise)
  await lock.run(['b'], async () => second.resolve())
  await t.resolves(first)
})

test('A task that fails releases its keys', async (t) => {
  const lock = new KeyedLock()
  await t.rejects(
    lock.run(['a', 'b'], () => Promise.reject(new Error('broken'))),
    { message: 'broken' },
  )
  t.equal(await lock.run(['b', 'a'], async () => 'free'), 'free')
})

test('Calls with the same keys run in the order of the calls', async (t) => {
  const lock = new KeyedLock()
  const order: number[] = []
  await Promise.all([0, 1, 2, 3].map((number) => lock.run(['b', 'a'], async () => void order.push(number))))
  t.same(order, [0, 1, 2, 3])
})

test('Calls never overlap on a key, and all end', async () => {
  const key = fc.constantFrom('a', 'b', 'c')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(key, { maxLength: 4 }), { maxLength: 12 }), async (calls) => {
      const lock = new KeyedLock()
      const running = new Set<string>()
      await Promise.all(
        calls.map((keys) =>
          lock.run(keys, async () => {
            const own = new Set(keys)
            for (const held of own) {
              if (running.has(held)) throw new Error(`two calls hold ${held}`)
              running.add(held)
            }
            await turn()
            for (const held of own) running.delete(held)
          }),
        ),
      )
    }),
    { numRuns: 50 },
  )
})
