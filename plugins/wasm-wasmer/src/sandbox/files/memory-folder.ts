import type { Budget } from './budget.ts'
import { FileError } from './file-error.ts'
import { MemoryFile, now } from './memory-file.ts'

/** An entry of a folder. */
export type MemoryNode = MemoryFile | MemoryFolder

/** A folder in memory, with its contents. Paths are relative to it, such as `a/b`; its own path is ''. */
export class MemoryFolder {
  readonly kind = 'directory'
  readonly size = 0
  readonly entries = new Map<string, MemoryNode>()
  /** In nanoseconds since 1970. */
  modified: bigint
  readonly #budget: Budget

  constructor(budget: Budget, modified: bigint) {
    this.#budget = budget
    this.modified = modified
  }

  get accessed(): bigint {
    return this.modified
  }

  /** @throws FileError when there is nothing at the path */
  find(path: string): MemoryNode {
    let node: MemoryNode = this
    for (const name of namesOf(path)) {
      if (node.kind === 'file') throw new FileError('ENOTDIR')
      const next: MemoryNode | undefined = node.entries.get(name)
      if (next === undefined) throw new FileError('ENOENT')
      node = next
    }
    return node
  }

  /** Splits a path into its parent folder and the name there. */
  split(path: string): [parent: MemoryFolder, name: string] {
    const names = namesOf(path)
    const name = names.pop()
    if (name === undefined) throw new FileError('EACCES')
    const parent = this.find(names.join('/'))
    if (parent.kind === 'file') throw new FileError('ENOTDIR')
    return [parent, name]
  }

  /** @param original the initial content, or null for a new file */
  addFile(path: string, original: Buffer | null, modified: bigint): MemoryFile {
    const [parent, name] = this.#vacancy(path)
    const file = new MemoryFile(this.#budget, original, modified)
    parent.#set(name, file)
    return file
  }

  addFolder(path: string, modified = now()): MemoryFolder {
    const [parent, name] = this.#vacancy(path)
    const folder = new MemoryFolder(this.#budget, modified)
    parent.#set(name, folder)
    return folder
  }

  /** Removes a file, or a folder that is empty. */
  remove(path: string): void {
    const [parent, name] = this.split(path)
    const node = this.find(path)
    if (node.kind === 'directory' && node.entries.size > 0) throw new FileError('ENOTEMPTY')
    parent.#delete(name)
    this.#budget.giveEntry()
    if (node.kind === 'file') node.unlink()
  }

  /** Moves within this folder. A file replaces a file, a folder an empty folder. */
  rename(from: string, to: string): void {
    const node = this.find(from)
    const [oldParent, oldName] = this.split(from)
    const [newParent, newName] = this.split(to)
    if (isBelow(namesOf(to), namesOf(from))) throw new FileError('EACCES')
    const replaced = newParent.entries.get(newName)
    if (replaced === node) return
    if (replaced !== undefined) {
      if (replaced.kind !== node.kind) {
        throw new FileError(replaced.kind === 'file' ? 'ENOTDIR' : 'EISDIR')
      }
      this.remove(to)
    }
    oldParent.#delete(oldName)
    newParent.#set(newName, node)
  }

  #set(name: string, node: MemoryNode): void {
    this.entries.set(name, node)
    this.modified = now()
  }

  #delete(name: string): void {
    this.entries.delete(name)
    this.modified = now()
  }

  #vacancy(path: string): [parent: MemoryFolder, name: string] {
    const [parent, name] = this.split(path)
    if (parent.entries.has(name)) throw new FileError('EEXIST')
    this.#budget.takeEntry()
    return [parent, name]
  }
}

/** Bytes of a name, at most. */
const longestName = 255
/** Characters of a path, at most. */
const longestPath = 4096

/** Accepts the names that the user's files can have, in their form. Other names could not be stored later. */
function namesOf(path: string): string[] {
  if (path.length > longestPath || path.includes('\\')) throw new FileError('EIO')
  const names = path
    .normalize('NFC')
    .split('/')
    .filter((name) => name !== '' && name !== '.')
  if (names.includes('..')) throw new FileError('EACCES')
  if (names.some((name) => Buffer.byteLength(name) > longestName)) throw new FileError('EIO')
  return names
}

function isBelow(names: readonly string[], folder: readonly string[]): boolean {
  return names.length > folder.length && folder.every((name, depth) => names[depth] === name)
}
