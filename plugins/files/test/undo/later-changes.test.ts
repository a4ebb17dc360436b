import t from 'tap'
import type { RecordedChange } from '../../src/journal/change.ts'
import { presentNames } from '../../src/undo/later-changes.ts'

t.test('thousands of moves beside thousands of restored files are looked through in one pass', async (t) => {
  const deep = '/a'.repeat(1990)
  const changes = 4000
  const restored = Array.from({ length: changes }, (_, i) => ({
    path: `${deep}/${i}`,
    restores: `first${i}`,
  }))
  const moved = Array.from({ length: changes }, (_, i) => ({
    path: `${deep}/moved${i}`,
    source: `${deep}/folder${i}`,
  }))
  const again = { path: `${deep}/7`, keptAs: 'second7', revision: 'r' }
  const oldestFirst = [...restored, ...moved, again].map(
    (change, seq): RecordedChange => ({ userUuid: '', op: 'move', seq, isPending: false, ...change }),
  )
  // Comparing each with each would take minutes.
  t.same([...presentNames(oldestFirst.reverse())], [['first7', 'second7']])
})
