import type { LocalEntry, LocalFileEntry } from '../../../src/client/ports.ts'
import { SyncFailure } from '../../../src/client/sync-failure.ts'
import { folderOf, foldersAbove, inFolder, isWithin, nameOf } from '../../../src/client/sync-paths.ts'

/** A file or folder of the model. */
type DiskNode = { readonly type: 'directory'; readonly path: string } | DiskFile

interface DiskFile {
  readonly type: 'file'
  /** The path as its names are written. */
  readonly path: string
  readonly content: string
  readonly modified: number
  readonly inode: number
  readonly version: number
}

/**
 * The synced folder of a device, in memory. The operations of the person are whole, and so are those of the client: an operation
 * checks and changes in one step, as links and renames do.
 */
export class ModelDisk {
  /** By the key of the path. */
  readonly nodes = new Map<string, DiskNode>()
  /** Whether the disk is mounted. */
  isThere = true
  isFull = false
  readonly isCaseSensitive: boolean
  onChange: (path: string) => void = () => {}
  #count = 0

  constructor(isCaseSensitive: boolean) {
    this.isCaseSensitive = isCaseSensitive
  }

  key(path: string): string {
    const normal = path.normalize('NFC')
    return this.isCaseSensitive ? normal : normal.toLowerCase()
  }

  find(path: string): DiskNode | undefined {
    return this.nodes.get(this.key(path))
  }

  /**
   * A path with the folders above it spelled as the disk has them. A disk that ignores case puts what a person gives the path
   * `/Photos/a` into its folder `/photos`.
   */
  spelled(path: string): string {
    const normal = path.normalize('NFC')
    const folder = folderOf(normal)
    const above = folder === '/' ? folder : (this.find(folder)?.path ?? this.spelled(folder))
    return inFolder(above, nameOf(normal))
  }

  /** The entry at a path with exactly this spelling. */
  stat(path: string): LocalEntry | null {
    const node = this.find(path)
    return node === undefined || node.path !== path ? null : entryOf(node)
  }

  list(folder: string): Map<string, LocalEntry> | null {
    if (folder !== '/' && this.find(folder)?.type !== 'directory') return null
    const children = [...this.nodes.values()].filter(({ path }) => folderOf(path) === folder)
    return new Map(children.map((node) => [nameOf(node.path), entryOf(node)]))
  }

  contentOf(path: string, { identity }: LocalFileEntry): string {
    return this.#file(path, identity).content
  }

  place(path: string, content: string, modified: number, expected: LocalFileEntry | null): LocalFileEntry {
    if (expected === null) {
      if (this.find(path)) throw changed(`${path} exists`)
    } else this.#file(path, expected.identity)
    this.#makeFolders(path)
    return this.#put(path, content, modified)
  }

  makeFolder(path: string): void {
    const node = this.find(path)
    if (node?.type === 'file' || (node && node.path !== path)) throw changed(`${path} exists`)
    this.#makeFolders(path)
    this.nodes.set(this.key(path), { type: 'directory', path })
    this.onChange(path)
  }

  trash(path: string, { identity }: LocalFileEntry): void {
    this.#file(path, identity)
    this.nodes.delete(this.key(path))
    this.onChange(path)
  }

  removeFolder(path: string): void {
    if (this.find(path)?.type !== 'directory' || this.within(path).length > 1)
      throw changed(`${path} is not empty`)
    this.nodes.delete(this.key(path))
    this.onChange(path)
  }

  move(path: string, destination: string, file: LocalFileEntry | null): LocalEntry {
    if (file !== null) this.#file(path, file.identity)
    else if (this.find(path)?.type !== 'directory') throw changed(`${path} is no folder`)
    if (this.find(destination)) throw changed(`${destination} exists`)
    this.#makeFolders(destination)
    this.rename(path, destination)
    const entry = this.stat(destination)
    if (entry === null) throw changed(`${destination} is gone`)
    return entry
  }

  /** All entries of a folder and the folder itself. */
  within(path: string): DiskNode[] {
    return [...this.nodes.values()].filter((node) => isWithin(this.key(node.path), this.key(path)))
  }

  /** Writes a file in place, or makes it, as a person does it. */
  write(path: string, content: string, modified: number): void {
    const known = this.find(path)
    const target = known?.path ?? this.spelled(path)
    this.#makeFolders(target)
    this.#put(target, content, modified, known?.type === 'file' ? known.inode : undefined)
  }

  /** Moves a file or folder, over anything that is there. */
  rename(path: string, destination: string): void {
    const moved = this.within(path)
    const target = this.spelled(destination)
    for (const { path: each } of moved) this.nodes.delete(this.key(each))
    for (const { path: each } of this.within(target)) this.nodes.delete(this.key(each))
    for (const node of moved) {
      const to = target + node.path.slice(path.length)
      this.nodes.set(this.key(to), { ...node, path: to })
    }
    this.onChange(path)
    this.onChange(target)
  }

  /** Removes a file or folder with its content. */
  drop(path: string): void {
    for (const node of this.within(path)) this.nodes.delete(this.key(node.path))
    this.onChange(path)
  }

  /** Puts files and folders back that were removed, as they were. */
  restore(removed: readonly DiskNode[]): void {
    for (const node of removed) {
      const path = this.spelled(node.path)
      this.#makeFolders(path)
      this.nodes.set(this.key(path), { ...node, path })
      this.onChange(path)
    }
  }

  #file(path: string, identity: string): DiskFile {
    const node = this.find(path)
    if (node?.type !== 'file' || node.path !== path || identityOf(node) !== identity)
      throw changed(`${path} changed`)
    return node
  }

  #put(path: string, content: string, modified: number, inode = ++this.#count): LocalFileEntry {
    const node: DiskFile = { type: 'file', path, content, modified, inode, version: ++this.#count }
    this.nodes.set(this.key(path), node)
    this.onChange(path)
    return entryOf(node) as LocalFileEntry
  }

  #makeFolders(path: string): void {
    for (const folder of foldersAbove(path)) {
      const node = this.find(folder)
      if (node?.type === 'file' || (node && node.path !== folder)) throw changed(`${folder} is in the way`)
      if (node === undefined) this.nodes.set(this.key(folder), { type: 'directory', path: folder })
    }
  }
}

function entryOf(node: DiskNode): LocalEntry {
  if (node.type === 'directory') return { type: 'directory' }
  const { content, modified, inode } = node
  return {
    type: 'file',
    size: content.length,
    modified,
    identity: identityOf(node),
    moveIdentity: `${inode} ${content.length} ${modified}`,
  }
}

function identityOf({ inode, version }: DiskFile): string {
  return `${inode} ${version}`
}

function changed(message: string): SyncFailure {
  return new SyncFailure('changed', message)
}
