import { FileError } from './file-error.ts'
import { type MemoryFile, now } from './memory-file.ts'
import type { MemoryNode } from './memory-folder.ts'
import type { Mount } from './mount.ts'

/** A file that a program has opened. */
interface OpenFile {
  readonly file: MemoryFile
  readonly writes: boolean
  readonly appends: boolean
}

/** Most open files of a program. */
const mostOpen = 4096

/**
 * Answers the SDK's calls for mounted folders. The calls and their arguments are those of `HostFileSystem` in the SDK's
 * js/bindgen/src/host_filesystem.rs. They reach only memory.
 */
export class FileCalls {
  readonly #mounts: readonly Mount[]
  readonly #open = new Map<number, OpenFile>()
  #lastId = 0

  constructor(mounts: readonly Mount[]) {
    this.#mounts = mounts
  }

  /**
   * Removes a folder that is empty.
   *
   * @param path absolute, as the program sees it
   * @throws FileError
   */
  removeFolder(path: string): void {
    const [mount, below] = this.#mountOf(path)
    if (changeable(mount).root.find(below).kind !== 'directory') throw new FileError('ENOTDIR')
    mount.root.remove(below)
  }

  /**
   * The times of access and modification, in nanoseconds since 1970 as texts of digits.
   *
   * @param path absolute, as the program sees it
   * @throws FileError for a path that is in no mounted folder, too
   */
  timesOf(path: string): [accessed: string, modified: string] {
    const [mount, below] = this.#mountOf(path)
    const { accessed, modified } = mount.root.find(below)
    return [String(accessed), String(modified)]
  }

  /**
   * Sets times of a file. Nothing keeps those of folders, and times in the future.
   *
   * @param path absolute, as the program sees it
   * @param times each in nanoseconds since 1970 as a text of digits, `now`, or null to leave it
   * @throws FileError
   */
  setTimes(path: string, times: readonly [accessed: string | null, modified: string | null]): void {
    const [mount, below] = this.#mountOf(path, 'ENOTSUP')
    const node = changeable(mount).root.find(below)
    if (node.kind === 'directory') throw new FileError('ENOTSUP')
    const [accessed, modified] = times.map((time) =>
      time === 'now' ? now() : time === null ? null : BigInt(time),
    )
    // The clock of a program has more digits than a storage.
    if (modified && modified / 1_000_000n > BigInt(Date.now())) throw new FileError('ENOTSUP')
    node.setTimes(accessed ?? node.accessed, modified ?? node.modified)
  }

  /** Finds the folder that a path is in, and the path within it. */
  #mountOf(path: string, otherwise: 'ENOENT' | 'ENOTSUP' = 'ENOENT'): [mount: Mount, below: string] {
    for (const mount of this.#mounts) {
      if (path === mount.guestPath) return [mount, '']
      if (path.startsWith(`${mount.guestPath}/`)) return [mount, path.slice(mount.guestPath.length + 1)]
    }
    throw new FileError(otherwise)
  }

  /**
   * @param mount the number of the folder
   * @throws FileError
   */
  answer(mount: number, method: string, args: readonly unknown[]): unknown {
    const folder = this.#mounts[mount]
    if (folder === undefined) throw new FileError('ENOENT')
    const [first, second, third] = args
    const path = String(first)
    const number = Number(first)
    switch (method) {
      case 'stat':
        return described(folder.root.find(path))
      case 'readDir':
        return listed(folder.root.find(path))
      case 'open':
        return this.#openFile(folder, path, args.slice(1).map(Boolean))
      case 'read':
        return this.#get(number).file.read(Number(second), Number(third))
      case 'write':
        return this.#write(this.#get(number), Number(second), Uint8Array.from(third as Uint8Array))
      case 'setLen':
        return this.#writable(this.#get(number)).resize(Number(second))
      case 'mkdir':
        return void changeable(folder).root.addFolder(path)
      case 'remove':
        return changeable(folder).root.remove(path)
      case 'rename':
        return changeable(folder).root.rename(path, String(second))
      case 'close':
        return void this.#open.delete(number)
      case 'flush':
      case 'sync':
        return null
      default:
        throw new FileError('ENOTSUP')
    }
  }

  #openFile(mount: Mount, path: string, flags: readonly boolean[]): number {
    const [, write = false, create = false, createNew = false, truncate = false, append = false] = flags
    const writes = write || append
    if (writes || create || createNew || truncate) changeable(mount)
    if (this.#open.size >= mostOpen) throw new FileError('EIO')
    const [parent, name] = mount.root.split(path)
    let node = parent.entries.get(name)
    if (node !== undefined && createNew) throw new FileError('EEXIST')
    if (node === undefined && !create && !createNew) throw new FileError('ENOENT')
    node ??= mount.root.addFile(path, null, now())
    if (node.kind === 'directory') throw new FileError('EISDIR')
    if (truncate) node.resize(0)
    this.#lastId += 1
    this.#open.set(this.#lastId, { file: node, writes, appends: append })
    return this.#lastId
  }

  #get(id: number): OpenFile {
    const open = this.#open.get(id)
    if (open === undefined) throw new FileError('EIO')
    return open
  }

  #writable(open: OpenFile): MemoryFile {
    if (!open.writes) throw new FileError('EACCES')
    return open.file
  }

  #write(open: OpenFile, offset: number, data: Uint8Array): number {
    const file = this.#writable(open)
    file.write(open.appends ? file.size : offset, data)
    return data.length
  }
}

function changeable(mount: Mount): Mount {
  if (!mount.writable) throw new FileError('EACCES')
  return mount
}

function described({ kind, size }: MemoryNode): object {
  return { kind, size }
}

function listed(node: MemoryNode): object[] {
  if (node.kind === 'file') throw new FileError('ENOTDIR')
  return [...node.entries].map(([name, entry]) => ({ name, ...described(entry) }))
}
