import assert from 'node:assert/strict'
import type { StorageEntry, StorageListEntry } from '../../contracts/storage.ts'
import { isWritable } from '../../storage/entry-times.ts'
import { assertCode, assertFails } from '../failures.ts'
import { collect, stream } from './bytes.ts'
import type { StorageView } from './subject.ts'

/** Stores a short text. */
export function put(storage: StorageView, path: string, text: string): Promise<StorageEntry> {
  return storage.write(path, stream(text))
}

export async function text(storage: Pick<StorageView, 'read'>, path: string): Promise<string> {
  const { content } = await storage.read(path)
  return (await collect(content)).toString()
}

export async function entries(storage: Pick<StorageView, 'list'>, path: string): Promise<StorageListEntry[]> {
  const found: StorageListEntry[] = []
  for await (const entry of storage.list(path)) found.push(entry)
  return found
}

export async function names(storage: Pick<StorageView, 'list'>, path: string): Promise<string[]> {
  return (await entries(storage, path)).map(({ name }) => name)
}

export async function isAbsent(storage: StorageView, path: string): Promise<boolean> {
  return storage.stat(path).then(
    () => false,
    (thrown: unknown) => {
      assertCode(thrown, ['NOT_FOUND'], `stat ${path}`)
      return true
    },
  )
}

export async function assertAbsent(storage: StorageView, path: string): Promise<void> {
  assert.ok(await isAbsent(storage, path), `nothing exists at ${path}`)
  await assertFails(storage.read(path), ['NOT_FOUND'], `reading ${path}`)
}

export async function assertContent(
  storage: Pick<StorageView, 'read'>,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  const { entry, content } = await storage.read(path)
  assert.equal(entry.size, bytes.length, `${path} has the size that was written`)
  assertSame(await collect(content), bytes, path)
}

/** Compares bytes. The message names the first difference instead of printing all bytes. */
export function assertSame(actual: Uint8Array, expected: Uint8Array, what: string): void {
  assert.equal(actual.length, expected.length, `${what} has the expected number of bytes`)
  if (Buffer.compare(actual, expected) === 0) return
  const first = actual.findIndex((byte, index) => byte !== expected[index])
  assert.fail(`${what}: byte ${first} differs`)
}

export function assertEntry(
  entry: StorageEntry,
  expected: Pick<StorageEntry, 'name' | 'type' | 'size'>,
): void {
  assert.deepEqual({ name: entry.name, type: entry.type, size: entry.size }, { ...expected })
  for (const date of [entry.modified, entry.created]) {
    assert.ok(date instanceof Date && isWritable(date), `${entry.name} has dates of the years 0 to 9999`)
  }
  assert.match(entry.revision, /^[\x21\x23-\x7e]+$/, 'a revision is visible ASCII without quotes')
}

/** Compares an entry of a listing with what `stat` tells. A listing may tell less, and the dates of a folder mean nothing. */
export function assertListed(listed: StorageListEntry, whole: StorageEntry): void {
  const { etag, ...told } = listed
  const { modified, created, revision, ...ofFolder } = told
  const isFile = listed.type === 'file'
  const compared = isFile
    ? { ...ofFolder, created, revision, ...(revision !== undefined && { modified }) }
    : ofFolder
  for (const [key, value] of Object.entries(compared).filter(([, value]) => value !== undefined))
    assert.deepEqual(value, whole[key as keyof StorageEntry], `${listed.name}: ${key} is that of \`stat\``)
  for (const date of [modified, ...(created === undefined ? [] : [created])])
    assert.ok(date instanceof Date && isWritable(date), `${listed.name} has dates of the years 0 to 9999`)
  if (isFile && revision === undefined)
    assert.ok(typeof etag === 'string' && etag !== '', `${listed.name} has an etag, as it has no revision`)
}
