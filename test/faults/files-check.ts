import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { FileChange, IndexedEntry } from '@nodekeep/plugin-sdk'
import { bytesOf } from './files-client.ts'
import type { FilesProcess } from './files-process.ts'
import { isWithin, type Tree, within } from './files-tree.ts'

/** The bytes of files by path, `null` for folders. The root is not included. */
export type Disk = ReadonlyMap<string, Buffer | null>

/** Returns the user's files on the disk. */
export async function readDisk(dataFolder: string, { session }: FilesProcess): Promise<Disk> {
  const root = join(dataFolder, 'files', session.uuid)
  const found = await readdir(root, { recursive: true, withFileTypes: true }).catch(() => [])
  const disk = new Map<string, Buffer | null>()
  for (const entry of found) {
    const file = join(entry.parentPath, entry.name)
    assert.ok(entry.isFile() || entry.isDirectory(), `${file} is neither a file nor a folder`)
    disk.set(file.slice(root.length), entry.isFile() ? await readFile(file) : null)
  }
  return disk
}

/** Returns whether a folder on the disk is exactly as a client expects. The folder itself may exist or not. */
export function matches(disk: Disk, expected: Tree, folder: string): boolean {
  const found = [...disk].filter(([path]) => path.startsWith(`${folder}/`))
  const wanted = new Map([...expected].filter(([path]) => path !== folder))
  if (found.length !== wanted.size) return false
  return found.every(([path, bytes]) => {
    const content = wanted.get(path)
    if (typeof content !== 'string') return bytes === content
    return bytes?.equals(bytesOf(content))
  })
}

/**
 * Checks that the API shows the files on the disk, and that the whole journal adds up to them.
 *
 * @param leftovers folders that the journal need not know, if they exist
 * @param excluded folders that the storage lists although nothing is there
 */
export async function checkAgreement(
  node: FilesProcess,
  disk: Disk,
  leftovers: readonly string[],
  excluded: readonly string[] = [],
): Promise<void> {
  const sizes = new Map([...disk].map(([path, bytes]) => [path, bytes === null ? null : bytes.length]))
  const inJournal = await journalTree(node)
  for (const path of leftovers) if (disk.get(path) === null) inJournal.set(path, null)
  assert.deepEqual(sorted(inJournal), sorted(sizes), 'the journal has another tree')
  assert.deepEqual(sorted(await listedTree(node, excluded)), sorted(sizes), 'the API shows another tree')
  await checkIndex(node, sizes)
}

/** Checks that the index has all entries, with the bytes and the number of those below each folder. */
async function checkIndex(node: FilesProcess, sizes: ReadonlyMap<string, number | null>): Promise<void> {
  const wanted = [...sizes].map(([path, size]) => {
    const inside = [...sizes].filter(([other]) => other.startsWith(`${path}/`))
    const bytes = inside.reduce((sum, [, one]) => sum + (one ?? 0), 0)
    return { path, type: size === null ? 'directory' : 'file', size: size ?? bytes, below: inside.length }
  })
  const entries = (await ask(node, '/index')) as IndexedEntry[]
  const found = entries.map(({ path, type, size, below }) => ({ path, type, size, below }))
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1)
  assert.deepEqual(found.sort(byPath), wanted.sort(byPath), 'the index has another tree')
  for (const { path, type, revision } of entries) {
    if (type === 'directory') continue
    const etag = (await fetchAs(node, `/stat?path=${path}`)).headers.get('etag')
    assert.equal(`"${revision}"`, etag, `the index has another revision of ${path}`)
  }
}

/** Waits until the journal has all changes, also those whose storage did not answer at the start of a busy machine. */
export async function settled({ url, session }: FilesProcess, signal: AbortSignal): Promise<void> {
  const headers = { authorization: `Bearer ${session.token}` }
  for (;;) {
    const { status } = await fetch(new URL('/journal', url), { headers, signal })
    if (status === 200) return
    assert.equal(status, 503)
    await delay(50, undefined, { signal })
  }
}

/** Returns the sizes of files by path, `null` for folders, to which the whole journal adds up. */
export async function journalTree(node: FilesProcess): Promise<Map<string, number | null>> {
  return replay((await ask(node, '/journal')) as FileChange[])
}

/**
 * Returns the sizes of files by path, `null` for folders, as listings show them.
 *
 * @param excluded paths that are left out
 */
export async function listedTree(
  node: FilesProcess,
  excluded: readonly string[] = [],
): Promise<Map<string, number | null>> {
  const found = new Map<string, number | null>()
  const folders = ['']
  for (const folder of folders) {
    const entries = await ask(node, `/readdir?path=${folder || '/'}`)
    for (const { name, type, size } of entries as { name: string; type: string; size?: number }[]) {
      const path = `${folder}/${name}`
      if (excluded.includes(path)) continue
      found.set(path, size ?? null)
      if (type === 'directory') folders.push(path)
    }
  }
  return found
}

async function ask(node: FilesProcess, target: string): Promise<unknown> {
  return (await fetchAs(node, target)).json()
}

async function fetchAs(node: FilesProcess, target: string): Promise<Response> {
  const headers = { authorization: `Bearer ${node.session.token}` }
  const answer = await fetch(new URL(target, node.url), { headers })
  assert.equal(answer.status, 200, target)
  return answer
}

/** Returns the sizes of files by path, `null` for folders, to which changes add up. */
export function replay(
  changes: readonly Pick<FileChange, 'op' | 'path' | 'source' | 'size'>[],
): Map<string, number | null> {
  const tree = new Map<string, number | null>()
  const at = (path: string) => [...tree].filter(([key]) => key === path || key.startsWith(`${path}/`))
  for (const { op, path, source, size } of changes) {
    const moved = op === 'move' && source !== undefined ? at(source) : []
    if (op !== 'mkdir') for (const [key] of [...moved, ...at(path)]) tree.delete(key)
    if (op === 'delete') continue
    const parents = path.split('/').slice(1, -1)
    parents.forEach((_, index) => {
      tree.set(`/${parents.slice(0, index + 1).join('/')}`, null)
    })
    if (op !== 'move') tree.set(path, op === 'write' ? (size ?? null) : null)
    for (const [key, value] of moved) tree.set(path + key.slice(source?.length), value)
  }
  return tree
}

export function sorted(tree: ReadonlyMap<string, number | null>) {
  return [...tree].sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Checks that no temporary file is left beside the lock and the name of the storage. */
export async function checkLeftovers(dataFolder: string): Promise<void> {
  for (const folder of [join('files', '.nodekeep'), join('plugins', 'files', 'incoming')]) {
    const found = await readdir(join(dataFolder, folder), { recursive: true, withFileTypes: true })
    const files = found
      .filter((entry) => entry.isFile() && !['lock', 'storage-id'].includes(entry.name))
      .map(({ name }) => name)
    assert.deepEqual(files, [], `${folder} has leftovers`)
  }
}

/**
 * Checks that a change that failed in the middle, in a storage without a step for folders, lost no file, mixed none with others and
 * changed nothing else. A change with a source is a move, unless it is a copy.
 */
export function checkHalfDone(
  { before, after, found }: { readonly before: Tree; readonly after: Tree; readonly found: Tree },
  {
    op,
    path,
    source = null,
  }: { readonly op: string; readonly path: string; readonly source?: string | null },
): void {
  const concerned = (key: string) => isWithin(key, path) || (source !== null && isWithin(key, source))
  const others = (tree: Tree) =>
    [...tree].filter(([key]) => !concerned(key) && !isWithin(path, key)).sort(([a], [b]) => (a < b ? -1 : 1))
  assert.deepEqual(others(found), others(before), 'other entries are as they were')
  const at = (tree: Tree, root: string) => new Map(within(tree, root))
  for (const [key, content] of at(found, path)) {
    if (content === null) continue
    const isKnown = [before.get(key), after.get(key)].includes(content)
    assert.ok(isKnown, `${key} has the old content or the new one`)
  }
  const contents = (tree: Tree) =>
    new Set(
      at(tree, path)
        .values()
        .filter((content) => content !== null),
    )
  const [old, come, there] = [contents(before), contents(after), contents(found)]
  const isMixed = there.difference(come).size > 0 && there.difference(old).size > 0
  assert.ok(!isMixed, 'the entries of a folder that is replaced mix with no others')
  if (source === null) return
  for (const [key, content] of at(before, source)) {
    if (content === null) continue
    const isThere = [key, path + key.slice(source.length)].some((place) => found.get(place) === content)
    assert.ok(isThere, `${key} is lost`)
    if (op === 'copy') assert.equal(found.get(key), content, `${key} stays where it is copied from`)
  }
  for (const [key, content] of at(found, source))
    assert.equal(before.get(key), content, `${key} is as it was`)
}
