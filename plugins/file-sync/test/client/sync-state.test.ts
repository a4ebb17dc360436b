import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import type { PathTable } from '../../src/client/path-table.ts'
import type { RemoteEntry } from '../../src/client/ports.ts'
import { SyncState } from '../../src/client/sync-state.ts'

const unavailable = { name: 'SyncFailure', kind: 'unavailable', message: /disk is full/ }
const file = (revision: string) => ({ type: 'file', size: 1, modified: 1, revision }) as const

t.test('a change that does not fit on the disk happens neither there nor in memory', async (t) => {
  const { database, state } = createFullState()
  const before = contentOf(state)
  const listing = new Map<string, RemoteEntry>(
    Array.from({ length: 1000 }, (_, count) => [`/new ${count}`, file(`new ${count}`)]),
  )
  t.throws(() => state.setListing(listing), unavailable)
  t.throws(() => state.advance(9, listing.keys()), unavailable)
  t.throws(() => state.setCommon('/large', commonOf('x'.repeat(100_000))), unavailable)
  t.throws(() => state.setRemote('/large', file('x'.repeat(100_000))), unavailable)
  t.throws(() => state.addOffer('/large', 'x'.repeat(100_000)), unavailable)
  t.throws(() => state.addLook(`/${'x'.repeat(100_000)}`), unavailable)
  t.strictSame(contentOf(state), before)
  t.strictSame(contentOf(new SyncState(database)), before, 'the disk has the same')
})

t.test('a state that could not begin anew deletes nothing after a restart', async (t) => {
  const { database, state } = createFullState()
  t.throws(() => state.reset({ epoch: 'x'.repeat(100_000), cursor: 0 }), unavailable)
  t.match(state.common.get('/0'), { isStale: false })
  database.exec('PRAGMA max_page_count = 1000000')
  state.reset({ epoch: 'second', cursor: 0 })
  const again = new SyncState(database)
  t.strictSame(again.position, { epoch: 'second', cursor: 0 })
  t.notOk(again.isListed)
  t.equal(again.common.size, 20)
  for (const path of again.common.within('/')) t.match(again.common.get(path), { isStale: true }, path)
})

/** A state whose database cannot grow. */
function createFullState() {
  const database = new DatabaseSync(':memory:')
  const state = new SyncState(database)
  state.reset({ epoch: 'first', cursor: 1 })
  for (let count = 0; count < 20; count += 1) {
    state.setCommon(`/${count}`, commonOf(`r${count}`))
    state.addOffer(`/${count}`, 'hash')
  }
  state.setListing(new Map([['/0', file('r0')]]))
  state.advance(2, ['/0'])
  const pages = Number(database.prepare('PRAGMA page_count').get()?.page_count)
  database.exec(`PRAGMA max_page_count = ${pages}`)
  return { database, state }
}

function commonOf(revision: string) {
  return { type: 'file', sha256: 'hash', revision, identity: 'i', moveIdentity: 'm', isStale: false } as const
}

function contentOf({ common, remote, looks, offers, position, isListed, files }: SyncState) {
  const recordsOf = <T>(table: PathTable<T>) => ({
    size: table.size,
    pathBytes: table.pathBytes,
    records: table.within('/').map((path) => [path, table.get(path)]),
  })
  return {
    common: recordsOf(common),
    remote: recordsOf(remote),
    looks: [...looks].sort(),
    offers: [...offers].map(([path, hashes]) => [path, ...hashes]).sort(),
    position,
    isListed,
    files,
  }
}
