import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { PathTable } from '../../src/client/path-table.ts'
import type { RemoteEntry } from '../../src/client/ports.ts'
import { SyncFailure } from '../../src/client/sync-failure.ts'
import { mostEntries, SyncState } from '../../src/client/sync-state.ts'

const unavailable = { name: 'SyncFailure', kind: 'unavailable', message: /disk is full/ }
const file = (revision: string) => ({ type: 'file', size: 1, modified: 1, revision }) as const

t.test('a change that does not fit on the disk happens neither there nor in memory', async (t) => {
  const { database, state } = createFullState()
  const before = contentOf(state)
  const listing = new Map<string, RemoteEntry>(
    Array.from({ length: 1000 }, (_, count) => [`/new ${count}`, file(`new ${count}`)]),
  )
  t.throws(() => state.setListing(listing), unavailable)
  t.throws(
    () =>
      state.transaction(() => {
        for (const path of listing.keys()) state.markDirty(path)
        state.advance({ cursor: 9 })
      }),
    unavailable,
  )
  t.throws(() => state.setCommon('/large', commonOf('x'.repeat(100_000))), unavailable)
  t.throws(() => state.setRemote('/large', file('x'.repeat(100_000))), unavailable)
  t.throws(() => state.addUnansweredUpload('/large', 'x'.repeat(100_000)), unavailable)
  t.throws(() => state.markDirty(`/${'x'.repeat(100_000)}`), unavailable)
  t.strictSame(contentOf(state), before)
  t.strictSame(contentOf(new SyncState(database)), before, 'the disk has the same')
})

t.test('a state that could not begin anew deletes nothing after a restart', async (t) => {
  const { database, state } = createFullState()
  t.throws(() => state.reset({ epoch: 'x'.repeat(100_000), cursor: 0 }), unavailable)
  t.strictSame(staleOf(state), [])
  database.exec('PRAGMA max_page_count = 1000000')
  state.reset({ epoch: 'second', cursor: 0 })
  const again = new SyncState(database)
  t.strictSame(again.position, { epoch: 'second', cursor: 0 })
  t.notOk(again.isListed)
  t.equal(again.common.size, 20)
  t.equal(staleOf(again).length, 20)
})

t.test('a common state that is recorded after a new beginning is valid, and finds moved files', async (t) => {
  const state = new SyncState(new DatabaseSync(':memory:'))
  for (const path of ['/first', '/second']) state.setCommon(path, commonOf('r1'))
  state.reset({ epoch: 'second', cursor: 0 })
  t.strictSame(staleOf(state), ['/first', '/second'])
  t.equal(state.pathOfRevision('r1'), undefined)
  t.equal(state.pathOfMove('m'), undefined)
  state.setCommon('/second', commonOf('r1'))
  t.strictSame(staleOf(state), ['/first'])
  t.equal(state.pathOfRevision('r1'), '/second')
  t.equal(state.pathOfMove('m'), '/second')
})

t.test('a transaction that fails while the state cannot be read ends the sync', async (t) => {
  const file = join(t.testdir(), 'state.sqlite')
  const database = new DatabaseSync(file)
  t.teardown(() => database.close())
  const state = new SyncState(database)
  for (let count = 0; count < 1000; count += 1) state.setCommon(`/${count}`, commonOf(`r${count}`))
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 1')
  // The first page has the format and the tables of the database. The rest has the records.
  const handle = await open(file, 'r+')
  const { size } = await handle.stat()
  await handle.write(Buffer.alloc(size - 4096, 7), 0, size - 4096, 4096)
  await handle.close()
  const full = () => {
    throw new SyncFailure('unavailable', 'The disk is full.')
  }
  t.throws(() => state.transaction(full), { name: 'SyncFailure', kind: 'stop', message: /cannot be read/ })
})

t.test('the files of a node that has the most files may change', async (t) => {
  const database = new DatabaseSync(':memory:')
  t.teardown(() => database.close())
  new SyncState(database)
  database.exec(`
    WITH RECURSIVE numbers(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ${mostEntries})
    INSERT INTO remote SELECT '/' || number, '{"type":"directory"}' FROM numbers
  `)
  const state = new SyncState(database)
  state.setRemote('/7', file('new'))
  t.match(state.remote.get('/7'), { revision: 'new' })
  t.throws(() => state.setRemote('/another', file('new')), { kind: 'stop', message: /more than 1,000,000/ })
})

/** A state whose database cannot grow. */
function createFullState() {
  const database = new DatabaseSync(':memory:')
  const state = new SyncState(database)
  state.reset({ epoch: 'first', cursor: 1 })
  for (let count = 0; count < 20; count += 1) {
    state.setCommon(`/${count}`, commonOf(`r${count}`))
    state.addUnansweredUpload(`/${count}`, 'hash')
  }
  state.setListing(new Map([['/0', file('r0')]]))
  state.markDirty('/0')
  state.advance({ cursor: 2, changeId: 'two' })
  const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count)
  database.exec(`PRAGMA max_page_count = ${pages}`)
  return { database, state }
}

function commonOf(revision: string) {
  return {
    type: 'file',
    sha256: 'hash',
    revision,
    identity: 'i',
    moveIdentity: 'm',
  } as const
}

function staleOf(state: SyncState): string[] {
  return state.common.within('/').filter((path) => {
    const common = state.common.get(path)
    return common !== undefined && state.isStale(path, common)
  })
}

function contentOf({ common, remote, dirtyRemote, unansweredUploads, position, isListed, files }: SyncState) {
  const recordsOf = <T>(table: PathTable<T>) => ({
    size: table.size,
    pathBytes: table.pathBytes,
    records: table.within('/').map((path) => [path, table.get(path)]),
  })
  return {
    common: recordsOf(common),
    remote: recordsOf(remote),
    looks: [...dirtyRemote.keys()].sort(),
    offers: [...unansweredUploads].map(([path, hashes]) => [path, ...hashes]).sort(),
    position,
    isListed,
    files,
  }
}
