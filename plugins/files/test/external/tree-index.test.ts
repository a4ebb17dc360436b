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

t.test('what a listing told of a file is kept as long as the file keeps its revision', async (t) => {
  const index = new TreeIndex(join(t.testdir(), 'index.sqlite'))
  t.teardown(() => index.close())
  const tree = index.tree('disk', 'ada')
  const row = { id: '', seq: 1, at: new Date() }
  const file = { type: 'file', revision: '1' } as const
  const told = (path: string) => tree.get(path)?.listed
  const put = (...paths: string[]) => {
    tree.put(paths.map((path) => [path, file]))
    tree.putListed(paths.map((path) => ({ path, revision: '1', listed: `of ${path}` })))
  }
  put('/file', '/folder/a')
  tree.putListed([{ path: '/file', revision: '2', listed: 'of another revision' }])
  t.equal(told('/file'), 'of /file')

  tree.apply([{ ...row, op: 'move', path: '/moved', source: '/file', revision: '1' }], 1)
  tree.apply([{ ...row, op: 'move', path: '/there', source: '/folder' }], 2)
  t.strictSame([told('/moved'), told('/there/a')], ['of /file', 'of /folder/a'])
  tree.apply([{ ...row, op: 'write', path: '/moved', revision: '2' }], 3)
  t.equal(told('/moved'), null)
})
