import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { TreeIndex } from '../../src/external/tree-index.ts'

t.test('an erasure does not wait for a snapshot, and leaves nothing after it', async (t) => {
  const file = join(t.testdir(), 'index.sqlite')
  const index = new TreeIndex(file)
  t.teardown(() => index.close())
  index.tree('disk', 'ada').put([['/ledger of ada', { type: 'file', revision: '1' }]])
  const snapshot = new DatabaseSync(file, { readOnly: true })
  t.teardown(() => snapshot.isOpen && snapshot.close())
  snapshot.exec('BEGIN')
  snapshot.prepare('SELECT count(*) FROM entries').get()

  const begun = performance.now()
  index.erase('ada')
  t.ok(performance.now() - begun < 2500, 'the event loop is not held up')
  const traces = () => ['', '-wal'].some((suffix) => readFileSync(file + suffix).includes('ledger of ada'))
  t.ok(traces(), 'the snapshot still has it')
  snapshot.close()
  while (traces()) await delay(20)
})
