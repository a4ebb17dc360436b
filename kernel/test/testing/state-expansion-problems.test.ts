import { test } from 'tap'
import { stateExpansionProblems } from '../../src/testing/state-expansion-problems.ts'

test('an expansion of a state adds keys and fields', async (t) => {
  const before = { 'note/1': { text: 'a', tags: ['x', { deep: 1 }] }, count: 1, none: null }
  const problems = (up: Parameters<typeof stateExpansionProblems>[1]['up']) =>
    stateExpansionProblems(before, { up })
  t.same(
    await problems(async (state) => {
      await state.set('note/2', 1)
      await state.set('note/1', { color: 'red', text: 'a', tags: ['x', { deep: 1, more: 2 }] })
    }),
    [],
  )
  t.same(
    await problems(async (state) => {
      await state.delete('count')
      await state.set('note/1', { text: 'a', tags: ['x'] })
      await state.set('none', {})
    }),
    [
      'The value of "note/1" lost or changed something.',
      'The entry "count" is gone.',
      'The value of "none" lost or changed something.',
    ],
  )
  t.same(await problems(async (state) => state.set('count', '1')), [
    'The value of "count" lost or changed something.',
  ])
})
