import fc from 'fast-check'
import { test } from 'tap'
import { HistoryMismatch, pendingSteps, type Step } from '../../src/state/schema.ts'

const steps = (...ids: string[]): Step[] => ids.map((id) => ({ id, change: 'contract' }))

test('the recorded steps must be the beginning of the list', async (t) => {
  const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 8 })
  fc.assert(
    fc.property(ids, fc.nat(8), (all, length) => {
      const done = all.slice(0, length)
      const pending = pendingSteps(steps(...done), steps(...all)).map(({ id }) => id)
      return JSON.stringify([...done, ...pending]) === JSON.stringify(all)
    }),
  )
  t.throws(
    () => pendingSteps(steps('a', 'b'), steps('a')),
    new HistoryMismatch('migration "b" has run, but this version does not know it'),
  )
  t.throws(
    () => pendingSteps(steps('b'), steps('a', 'b')),
    new HistoryMismatch('migration "b" has run where "a" is expected'),
  )
  t.throws(
    () => pendingSteps(steps('x'), steps('a')),
    new HistoryMismatch('migration "x" has run, but this version does not know it'),
  )
})

test('every step has a unique id', async (t) => {
  t.throws(() => pendingSteps([], steps('a', 'b', 'a')), /Two migrations have the id "a"/)
  t.throws(() => pendingSteps([], steps('')), /needs an id/)
  t.throws(() => pendingSteps([], [{} as Step]), /needs an id/)
})

test('expansions of a newer version may follow, nothing else', async (t) => {
  const expansion: Step = { id: 'b', change: 'expand' }
  t.same(pendingSteps([...steps('a'), expansion], steps('a')), [])
  t.throws(() => pendingSteps([...steps('a'), expansion], steps('a', 'c')), HistoryMismatch)
  t.throws(() => pendingSteps([...steps('a'), expansion, ...steps('c')], steps('a')), /"c" has run/)
})
