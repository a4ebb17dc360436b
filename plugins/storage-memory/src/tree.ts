import { NodekeepError, nameOf, type StorageDriverReading, type StorageEntry } from '@nodekeep/plugin-sdk'
import { blocksFrom } from './blocks.ts'

/** A file. It never changes: a write replaces it by another one, and a reader keeps the old one alive. */
export interface MemoryFile {
  readonly type: 'file'
  readonly blocks: readonly Uint8Array[]
  readonly size: number
  readonly modified: Date
  readonly created: Date
  readonly revision: string
}

/** A folder, with its entries by name. */
export interface MemoryFolder {
  readonly type: 'directory'
  readonly entries: Map<string, MemoryNode>
  readonly size: 0
  readonly modified: Date
  readonly created: Date
  readonly revision: string
}

export type MemoryNode = MemoryFile | MemoryFolder

export function newFolder(): MemoryFolder {
  const now = new Date()
  return { type: 'directory', entries: new Map(), size: 0, modified: now, created: now, revision: 'folder' }
}

/** Copies a folder and the folders in it. The files are shared, since they never change. */
export function copyFolder(folder: MemoryFolder): MemoryFolder {
  const copy = { ...folder, entries: new Map(folder.entries) }
  // No recursion: a tree may be deeper than the stack.
  const copies = [copy]
  for (let next = copies.pop(); next !== undefined; next = copies.pop()) {
    for (const [name, node] of next.entries) {
      if (node.type === 'file') continue
      const inner = { ...node, entries: new Map(node.entries) }
      next.entries.set(name, inner)
      copies.push(inner)
    }
  }
  return copy
}

export function entryOf(path: string, node: MemoryNode): StorageEntry {
  const { type, size, modified, created, revision } = node
  return { name: nameOf(path), type, size, modified, created, revision }
}

export function find(root: MemoryFolder, path: string): MemoryNode | undefined {
  let node: MemoryNode | undefined = root
  for (const name of segments(path)) node = node?.type === 'directory' ? node.entries.get(name) : undefined
  return node
}

/** @throws NodekeepError NOT_FOUND */
export function get(root: MemoryFolder, path: string): MemoryNode {
  const node = find(root, path)
  if (node === undefined) throw new NodekeepError('NOT_FOUND', `There is no file or folder at ${path}.`)
  return node
}

/** Returns the folder at a path. Makes it and its parents if they are missing. */
export function folderAt(root: MemoryFolder, path: string): MemoryFolder {
  let folder = root
  for (const name of segments(path)) {
    const next = folder.entries.get(name) ?? newFolder()
    if (next.type === 'file') throw new Error(`${path} cannot be a folder: a file is in the way.`)
    folder.entries.set(name, next)
    folder = next
  }
  return folder
}

/** Yields the entries of a folder as they are when the listing begins, sorted by name. */
export function* list(root: MemoryFolder, path: string): Iterable<StorageEntry> {
  const folder = find(root, path)
  if (folder?.type !== 'directory') return
  const entries = [...folder.entries].map(([name, node]) => entryOf(name, node))
  yield* entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Opens a file at the block that contains the byte `start`. Of a folder, it opens nothing. */
export function read(root: MemoryFolder, path: string, start: number): StorageDriverReading {
  const node = get(root, path)
  return { entry: entryOf(path, node), ...blocksFrom(node.type === 'file' ? node.blocks : [], start) }
}

/** Returns the bytes of a file, or of all files in a folder. */
export function bytesOf(node: MemoryNode): number {
  let bytes = 0
  const nodes = [node]
  for (let next = nodes.pop(); next !== undefined; next = nodes.pop()) {
    bytes += next.size
    if (next.type === 'directory') for (const inner of next.entries.values()) nodes.push(inner)
  }
  return bytes
}

function segments(path: string): string[] {
  return path === '/' ? [] : path.slice(1).split('/')
}
