import t from 'tap'
import { SortedNames } from '../../src/reading/sorted-names.ts'

const names = Array.from(
  { length: 50_000 },
  (_, index) => `${(index * 31_337) % 49_999} ${'ab😀～é'[index % 5]}`,
)

/** A folder that counts how often it is read. */
function folderOf(all: readonly string[]) {
  const folder = { reads: 0, read }
  async function* read(after: string) {
    folder.reads += 1
    for (let start = 0; start < all.length; start += 777)
      yield all.slice(start, start + 777).filter((name) => name > after)
    yield []
    yield all.slice(0, 10).filter((name) => name > after)
  }
  return folder
}

/** Bytes of names as they are counted. */
function bytesOf(part: readonly string[]): number {
  return part.reduce((bytes, name) => bytes + 32 + 2 * name.length, 0)
}

t.test('names from many portions are sorted by code units, and each is listed once', async (t) => {
  const folder = folderOf(names)
  const sorted = new SortedNames({ most: 2 ** 23, least: 64 * 1024 })
  const parts = await Array.fromAsync(sorted.parts('', folder.read))
  t.strictSame(parts.flat(), [...new Set(names)].sort())
  t.ok(bytesOf(parts[0] ?? []) <= 64 * 1024, 'a reader that has not gone on holds few')
  t.equal(folder.reads, 3)
  t.strictSame(await Array.fromAsync(sorted.parts('', folderOf([]).read)), [[]])
})

t.test('names beyond the memory for them come in parts, each once and in order', async (t) => {
  const least = 64 * 1024
  for (const after of ['', '25000']) {
    const folder = folderOf(names)
    const parts = await Array.fromAsync(new SortedNames({ most: 0, least }).parts(after, folder.read))
    const expected = [...new Set(names)].sort().filter((name) => name > after)
    t.strictSame(parts.flat(), expected)
    t.equal(folder.reads, parts.length)
    for (const part of parts) t.ok(bytesOf(part) <= least, `${bytesOf(part)} bytes`)
    // Every part but the last one holds nearly half of the bytes, or more.
    t.ok(folder.reads <= (2.2 * bytesOf(expected)) / least + 1, `${folder.reads} reads`)
  }
  const few = ['b', 'a'.repeat(100), 'c']
  const parts = await Array.fromAsync(new SortedNames({ most: 0, least: 1 }).parts('', folderOf(few).read))
  t.strictSame(parts.flat(), few.sort())
})

t.test('readers share the memory, and the next ones have it when a reader has ended', async (t) => {
  const sorted = new SortedNames({ most: bytesOf(names) + 1024, least: 64 * 1024 })
  const readWhole = async () => {
    const folder = folderOf(names)
    await Array.fromAsync(sorted.parts('', folder.read))
    return folder.reads
  }
  const first = sorted.parts('', folderOf(names).read)
  for (let part = 0; part < 3; part += 1) await first.next()
  t.ok((await readWhole()) > 5)
  await first.return()
  t.equal(await readWhole(), 3)
  const failing = sorted.parts('', async function* (after) {
    if (after !== '') throw new Error('gone')
    yield names
  })
  await failing.next()
  await t.rejects(failing.next(), { message: 'gone' })
  t.equal(await readWhole(), 3)
})
