import { NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'

/** A file. It never changes: a write puts another one in its place, and who reads it keeps it alive. */
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

/** A copy of a folder and those in it. Files are shared, since they never change. */
export function copyFolder(folder: MemoryFolder): MemoryFolder {
  const copy = { ...folder, entries: new Map(folder.entries) }
  // No recursion: trees may be deeper than the stack.
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

/** The last segment of a path, `/` for the root. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1) || '/'
}

export function isEmptyFolder(node: MemoryNode): boolean {
  return node.type === 'directory' && node.entries.size === 0
}

export function isWithin(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`)
}

export function find(root: MemoryFolder, path: string): MemoryNode | undefined {
  let node: MemoryNode | undefined = root
  for (const name of segments(path)) node = node?.type === 'directory' ? node.entries.get(name) : undefined
  return node
}

/** @throws NodekeepError NOT_FOUND */
export function get(root: MemoryFolder, path: string): MemoryNode {
  const node = find(root, path)
  if (node === undefined) throw new NodekeepError('NOT_FOUND', `There is nothing at ${path}.`)
  return node
}

/**
 * The folder at a path, which is made together with its parents where it is missing.
 *
 * @throws NodekeepError CONFLICT when a file stands in the way; nothing is made then
 */
export function folderAt(root: MemoryFolder, path: string): MemoryFolder {
  checkFolders(root, path)
  let folder = root
  for (const name of segments(path)) {
    const next = folder.entries.get(name) ?? newFolder()
    if (next.type === 'file') throw fileInTheWay(path)
    folder.entries.set(name, next)
    folder = next
  }
  return folder
}

/** @throws NodekeepError CONFLICT when a file stands where a folder of the path must be */
export function checkFolders(root: MemoryFolder, path: string): void {
  let node: MemoryNode | undefined = root
  for (const name of segments(path)) {
    node = node?.type === 'directory' ? node.entries.get(name) : undefined
    if (node?.type === 'file') throw fileInTheWay(path)
  }
}

/** The path of the folder that something is in. */
export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}

/** The bytes of all files of a node. */
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

function fileInTheWay(path: string): NodekeepError {
  return new NodekeepError('CONFLICT', `${path} cannot be a folder: a file stands in its way.`)
}
