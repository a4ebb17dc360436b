import { NodekeepError, type StorageEntry, type StorageListEntry } from '@nodekeep/plugin-sdk'
import type { Location } from '../mounts/mounts.ts'
import { longestPath, type UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import type { Scope } from './scope.ts'

/** The entries of a folder at any depth, with the folder itself, or a single file. */
export interface Tree<File = { readonly path: UserPath; readonly revision: string }> {
  readonly files: File[]
  /** Folders, each before the folders in it. */
  readonly folders: UserPath[]
}

/** A tree as its storage lists it. The revisions of its files may be unknown. */
export type ListedTree = Tree<{
  readonly path: UserPath
  readonly revision: string | undefined
  /** Bytes. */
  readonly size: number
}>

/**
 * An entry of a backend and all entries below it, by their paths from it on; empty for itself. A folder comes before its content.
 */
export async function* walkStored(
  { backend, backendPath }: Location,
  entry: StorageEntry,
  signal?: AbortSignal,
): AsyncGenerator<readonly [path: string, entry: StorageListEntry], void, undefined> {
  yield ['', entry]
  // Without recursion: with it, every level would pass on all entries of the levels below.
  const folders = entry.type === 'directory' ? [''] : []
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for await (const child of backend.list(`${backendPath}${folder}`, definedOnly({ signal }))) {
      const path = `${folder}/${child.name}`
      yield [path, child]
      if (child.type === 'directory') folders.push(path)
    }
  }
}

/** A user's entry and all entries below it, on its mount. */
async function* walk(
  scope: Scope,
  path: UserPath,
  entry: StorageEntry,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly [path: UserPath, entry: StorageListEntry], void, undefined> {
  for await (const [below, child] of walkStored(scope.locate(path), entry, signal))
    yield [`${path}${below}` as UserPath, child]
}

/** Lists the tree of an entry before something changes it. */
export async function treeAt(
  scope: Scope,
  path: UserPath,
  entry: StorageEntry,
  signal?: AbortSignal,
): Promise<ListedTree> {
  const tree: ListedTree = { files: [], folders: [] }
  for await (const [entryPath, { type, revision, size }] of walk(scope, path, entry, signal)) {
    signal?.throwIfAborted()
    if (type === 'file') tree.files.push({ path: entryPath, revision, size })
    else tree.folders.push(entryPath)
  }
  return tree
}

/** Folders grouped by their depth, the deepest group first. */
export function deepestFirst(folders: readonly UserPath[]): UserPath[][] {
  const levels = Map.groupBy(folders, (folder) => folder.split('/').length)
  return [...levels].sort(([a], [b]) => b - a).map(([, level]) => level)
}

/**
 * Checks that a folder can move without giving anything in it a path that is too long to be used. A move to a longer path
 * walks the folder.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function checkPathLengths(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
  entry: StorageEntry,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (Buffer.byteLength(destination) <= Buffer.byteLength(source)) return
  for await (const [path] of walk(scope, source, entry, signal)) {
    signal?.throwIfAborted()
    checkPathLength(path, source, destination)
  }
}

/** The check of {@link checkPathLengths} for a tree that is listed already. */
export function checkPathLengthsOf(
  { files, folders }: ListedTree,
  source: UserPath,
  destination: UserPath,
): void {
  for (const { path } of files) checkPathLength(path, source, destination)
  for (const path of folders) checkPathLength(path, source, destination)
}

/**
 * @param path the former path of the entry, in `source`
 * @throws NodekeepError VALIDATION_ERROR when its path would be too long in `destination`
 */
export function checkPathLength(path: string, source: string, destination: string): void {
  const added = Buffer.byteLength(destination) - Buffer.byteLength(source)
  if (Buffer.byteLength(path) + added <= longestPath) return
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `Something in "${source}" would have a path of more than ${longestPath} bytes in "${destination}". Choose a ` +
      'shorter destination.',
  )
}
