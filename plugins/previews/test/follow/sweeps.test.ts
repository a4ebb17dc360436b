import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { FileIndex, IndexedEntry, UserDirectory } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { PreviewCache } from '../../src/cache/preview-cache.ts'
import { Sweeps } from '../../src/follow/sweeps.ts'
import { CacheTable } from '../../src/tables/cache-table.ts'
import { ContentTable } from '../../src/tables/content-table.ts'
import { EntryTable } from '../../src/tables/entry-table.ts'
import { openDatabase } from '../../src/tables/open-database.ts'

function indexed(id: string): IndexedEntry {
  const path = `/${id}.png`
  const known = { size: 1, below: 0, revision: id, modified: new Date(0), sha256: id.repeat(64) }
  return { id, path, name: `${id}.png`, type: 'file', ...known }
}

test('what is kept of files and users that are gone is removed', async (t) => {
  const folder = t.testdir({ cache: {}, 'previews.sqlite': '' })
  const database = openDatabase(join(folder, 'previews.sqlite'))
  t.teardown(() => database.close())
  const { signal } = new AbortController()
  const log = { warn: (fault: object) => t.fail('nothing fails', fault) }
  const [entries, contents, table] = [EntryTable, ContentTable, CacheTable].map(
    (Table) => new Table(database),
  ) as [EntryTable, ContentTable, CacheTable]
  const cache = new PreviewCache({ folder: join(folder, 'cache'), table, limit: 1000, log, signal })
  for (const user of ['ada', 'bob', 'eve']) {
    entries.learn(user, ['1', '2'].map(indexed), [], 'x.1')
    for (let due = entries.nextDue(user); due?.userUuid === user; due = entries.nextDue('')) {
      const sha256 = due.id.repeat(64)
      const facts = { width: 1, height: 1, taken: null, place: null, camera: null }
      contents.putFacts(user, sha256, facts)
      entries.settle(due, sha256, indexed(due.id))
      await cache.put({ userUuid: user, sha256, size: 'small' }, Buffer.alloc(10), () => true)
    }
  }
  const index = { for: () => ({ entry: async (id: string) => (id === '1' ? indexed('1') : null) }) }
  const users = { get: async (uuid: string) => (uuid === 'eve' ? null : {}) }
  const erased: string[] = []
  const sweeps = new Sweeps({
    index: index as unknown as FileIndex,
    users: users as unknown as UserDirectory,
    entries,
    contents,
    cache,
    isFollowed: async (user) => user !== 'bob',
    eraseUser: async (user) => void erased.push(user),
    log,
    signal,
  })
  await sweeps.sweep()
  const all = { from: 0, until: 1, after: null, limit: 10 }
  const ids = (user: string) => contents.photos(user, all).map(({ id }) => id)
  t.strictSame(ids('ada'), ['1'])
  t.strictSame(ids('bob'), ['2', '1'], 'an index that is not complete says nothing')
  t.strictSame(erased, ['eve'])
  const files = readdirSync(join(folder, 'cache/ada'), { recursive: true, encoding: 'utf8' })
  t.strictSame(
    files.filter((name) => name.endsWith('.webp')),
    [`11/${'1'.repeat(64)}-small.webp`],
  )
  t.equal(table.bytes('ada'), 10)
  t.equal(cache.bytes, 50)
})
