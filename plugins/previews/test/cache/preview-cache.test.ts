import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test, test } from 'tap'
import { PreviewCache } from '../../src/cache/preview-cache.ts'
import { CacheTable } from '../../src/tables/cache-table.ts'
import { ContentTable } from '../../src/tables/content-table.ts'
import { openDatabase } from '../../src/tables/open-database.ts'

const { signal } = new AbortController()
const log = { warn: (fault: object) => t.fail('nothing fails', fault) }

function open(t: Test, limit: number) {
  const folder = t.testdir({ cache: {}, 'previews.sqlite': '' })
  const database = openDatabase(join(folder, 'previews.sqlite'))
  t.teardown(() => database.close())
  const table = new CacheTable(database)
  const files = () =>
    readdirSync(join(folder, 'cache'), { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.includes('webp'),
    )
  const make = () => new PreviewCache({ folder: join(folder, 'cache'), table, limit, log, signal })
  return { contents: new ContentTable(database), cache: make(), make, files, folder: join(folder, 'cache') }
}

function key(letter: string, userUuid = 'ada') {
  return { userUuid, sha256: letter.repeat(64), size: 'small' } as const
}

const yes = () => true

test('the previews that were not used for longest make room', async (t) => {
  const { cache, make, files } = open(t, 250)
  for (const letter of 'abc') await cache.put(key(letter), Buffer.alloc(100), yes)
  t.equal(cache.bytes, 200)
  t.equal(await cache.get(key('a')), null)
  t.equal((await cache.get(key('b')))?.length, 100)
  t.equal(files().length, 2)
  await cache.put(key('c'), Buffer.alloc(50), yes)
  t.equal(cache.bytes, 150, 'a preview that is made again counts once')
  t.equal(make().bytes, 150, 'also after a restart')
  t.ok(cache.hasRoomFor('small'))
  t.notOk(cache.hasRoomFor('medium'), 'more than half is full')
})

test('a preview whose file is gone or cut is not there', async (t) => {
  const { cache, files, folder } = open(t, 1000)
  await cache.put(key('a'), Buffer.alloc(100), yes)
  writeFileSync(join(folder, files()[0] ?? ''), Buffer.alloc(99))
  t.equal(await cache.get(key('a')), null)
  t.equal(cache.bytes, 0)
  t.strictSame(files(), [])
})

test('a sweep leaves what counts', async (t) => {
  const { contents, cache, files, folder } = open(t, 1000)
  for (const letter of 'ab') await cache.put(key(letter), Buffer.alloc(10), yes)
  await cache.put(key('c', 'bob'), Buffer.alloc(10), yes)
  contents.putFacts('ada', key('a').sha256, null)
  writeFileSync(join(folder, 'ada/aa', `${'a'.repeat(64)}-large.webp`), 'of a crash')
  writeFileSync(join(folder, 'ada/aa', `${'a'.repeat(64)}-small.webp.part`), 'of a crash')
  await cache.sweep('ada', signal)
  t.strictSame(files().sort(), [`ada/aa/${'a'.repeat(64)}-small.webp`, `bob/cc/${'c'.repeat(64)}-small.webp`])
})

test('nothing is kept of a user who was erased', async (t) => {
  const { cache, files } = open(t, 1000)
  for (const user of ['ada', 'bob']) await cache.put(key('a', user), Buffer.alloc(10), yes)
  await cache.erase('ada')
  await cache.put(key('b'), Buffer.alloc(10), () => false)
  t.strictSame(files(), [`bob/aa/${'a'.repeat(64)}-small.webp`])
  t.equal(cache.bytes, 10)
})
