import { posix } from 'node:path'
import type { Imports, Memory } from './web-assembly.ts'

/** Asks the main thread about a path of the program. It returns an errno for a failure. */
type AskMain = (method: string, ...args: readonly unknown[]) => unknown

type SystemCall = (...args: unknown[]) => unknown

/** Errors of WASI: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md#errno */
const errno = { success: 0, fault: 21, invalid: 28, noEntry: 44, notSupported: 58 }
/** The SDK would keep links in folders for itself: the program would see them, and they would never be stored. */
const unsupported = ['path_link', 'path_symlink']

/** Types of files. The SDK calls standard input and output devices, which programs take for terminals. */
const characterDevice = 2
const unknownType = 0

/** Descriptors that a program has from the beginning. The SDK opens its `/` three times. */
const openedAtStart = [3, 4, 5]

/** Bytes of an entry of a listing before its name. */
const entryHead = 24
/** Bytes of a name, at most. */
const longestName = 255
/** Bytes of the program's memory that are lent to the SDK for a listing. */
const lentBytes = 65_536

/** Flags of a change of times. */
const times = { accessed: 1, accessedNow: 2, modified: 4, modifiedNow: 8 }

/** An entry of a listing. */
interface Listed {
  readonly inode: bigint
  readonly type: number
  readonly name: Uint8Array
}

/** Where a program wants entries: a place of this length, and a place for the number of bytes that are used of it. */
interface ListingPlace {
  readonly at: number
  readonly length: number
  readonly usedAt: number
}

/** A listing of an open folder, as it was when the program began to read it. */
interface Listing {
  readonly entries: Listed[]
  /** The cookie of the SDK from which on entries are missing; null if none is. */
  next: bigint | null
}

/**
 * The calls of a program to its system. They are those of the SDK, and differ from them where the SDK does something else than
 * WASI says: https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
 *
 * - A listing shows each entry once that was there at its beginning, also if the program removes entries meanwhile.
 * - A folder can be removed that the SDK has not seen yet.
 * - Files in mounted folders have their times. Where times cannot be set, the program is told so.
 * - Standard input and output are no terminals.
 * - There are no links.
 */
export class SystemCalls {
  readonly #ask: AskMain
  readonly #memoryOf: () => Memory | undefined
  /** The absolute paths of what the program has open, by descriptor. */
  readonly #paths = new Map<number, string>(openedAtStart.map((fd) => [fd, '/']))
  /** By descriptor. */
  readonly #listings = new Map<number, Listing>()

  /** @param memoryOf returns the memory of the program, if it has one already */
  constructor(ask: AskMain, memoryOf: () => Memory | undefined) {
    this.#ask = ask
    this.#memoryOf = memoryOf
  }

  /**
   * Returns the calls that a program imports.
   *
   * @param module the name of the module that they are imported from
   * @param own the calls of the SDK
   */
  guarded(module: string, own: Imports[string]): Imports[string] {
    const guards = this.#guards(module)
    const guarded: Record<string, unknown> = { ...own }
    for (const [name, call] of Object.entries(own)) {
      const guard = guards[name]
      if (typeof call !== 'function') continue
      if (unsupported.includes(name)) guarded[name] = () => errno.notSupported
      else if (guard !== undefined) {
        guarded[name] = (...args: unknown[]) => {
          const memory = this.#memoryOf()
          // A start function of a module runs before its memory can be had.
          return memory === undefined
            ? (call as SystemCall)(...args)
            : guard(call as SystemCall, args, new DataView(memory.buffer))
        }
      }
    }
    return guarded
  }

  /** A view of the memory is of the time before the call. */
  #guards(module: string): Record<string, (call: SystemCall, args: unknown[], view: DataView) => unknown> {
    /** The first version of WASI has a shorter `nlink`. */
    const timesAt = module === 'wasi_unstable' ? 32 : 40
    const pathAt = (fd: unknown, at: unknown, length: unknown, view: DataView) =>
      this.#resolve(unsigned(fd), textAt(view, unsigned(at), unsigned(length)))
    return {
      proc_exit: (call, args) => {
        this.#ask('exiting', unsigned(args[0]))
        return call(...args)
      },
      path_open: (call, args, view) => {
        const path = pathAt(args[0], args[2], args[3], view)
        return this.#opening(call, args, path)
      },
      fd_dup: (call, args) => this.#opening(call, args, this.#paths.get(unsigned(args[0]))),
      fd_dup2: (call, args) => this.#opening(call, args, this.#paths.get(unsigned(args[0]))),
      fd_renumber: (call, args) => {
        const result = call(...args)
        if (result !== errno.success) return result
        const [from, to] = args.map(unsigned) as [number, number]
        const path = this.#paths.get(from)
        this.#close(from)
        this.#opened(to, path)
        return result
      },
      fd_close: (call, args) => {
        const result = call(...args)
        if (result === errno.success) this.#close(unsigned(args[0]))
        return result
      },
      path_rename: (call, args, view) => {
        const from = pathAt(args[0], args[1], args[2], view)
        const to = pathAt(args[3], args[4], args[5], view)
        const result = call(...args)
        if (result === errno.success && from !== undefined && to !== undefined) this.#renamed(from, to)
        return result
      },
      path_remove_directory: (call, args, view) => {
        const path = pathAt(args[0], args[1], args[2], view)
        const result = call(...args)
        // The SDK looks only among the folders that the program has seen.
        return result === errno.noEntry && path !== undefined ? this.#ask('removeFolder', path) : result
      },
      fd_readdir: (call, args) => this.#list(call, args),
      fd_fdstat_get: (call, args) => {
        const result = call(...args)
        if (result === errno.success) this.#hideTerminal(unsigned(args[1]))
        return result
      },
      tty_get: (call, args) => {
        const result = call(...args)
        // Whether stdin, stdout and stderr are terminals: https://wasix.org/docs/api-reference/wasix/tty_get
        if (result === errno.success) this.#bytes().fill(0, unsigned(args[0]) + 16, unsigned(args[0]) + 19)
        return result
      },
      fd_filestat_get: (call, args) => {
        const [fd, at] = args.map(unsigned) as [number, number]
        const result = call(...args)
        if (result !== errno.success) return result
        this.#hideTerminal(at + 16)
        this.#setTimesAt(at + timesAt, this.#paths.get(fd))
        return result
      },
      path_filestat_get: (call, args, view) => {
        const path = pathAt(args[0], args[2], args[3], view)
        const result = call(...args)
        if (result === errno.success) this.#setTimesAt(unsigned(args[4]) + timesAt, path)
        return result
      },
      fd_filestat_set_times: (call, args) => {
        const [fd, accessed, modified, flags] = args
        const result = call(...args)
        if (result !== errno.success) return result
        return this.#changeTimes(this.#paths.get(unsigned(fd)), { accessed, modified, flags })
      },
      path_filestat_set_times: (call, args, view) => {
        const [fd, , at, length, accessed, modified, flags] = args
        const path = pathAt(fd, at, length, view)
        const result = call(...args)
        return result === errno.success ? this.#changeTimes(path, { accessed, modified, flags }) : result
      },
    }
  }

  /** There are no links, so `..` is the folder above. */
  #resolve(fd: number, path: string): string | undefined {
    const folder = this.#paths.get(fd)
    return folder === undefined ? undefined : posix.resolve(folder, path)
  }

  /** Runs a call that puts a new descriptor where its last argument points. */
  #opening(call: SystemCall, args: unknown[], path: string | undefined): unknown {
    const result = call(...args)
    if (result === errno.success) this.#opened(this.#view().getUint32(unsigned(args.at(-1)), true), path)
    return result
  }

  #opened(fd: number, path: string | undefined): void {
    this.#close(fd)
    if (path !== undefined) this.#paths.set(fd, path)
  }

  #close(fd: number): void {
    this.#paths.delete(fd)
    this.#listings.delete(fd)
  }

  #renamed(from: string, to: string): void {
    for (const [fd, path] of this.#paths) {
      if (path === from || path.startsWith(`${from}/`)) this.#paths.set(fd, to + path.slice(from.length))
    }
  }

  #hideTerminal(at: number): void {
    const view = this.#view()
    if (view.getUint8(at) === characterDevice) view.setUint8(at, unknownType)
  }

  #setTimesAt(at: number, path: string | undefined): void {
    const found = path === undefined ? null : this.#ask('timesOf', path)
    if (!Array.isArray(found)) return
    const [accessed, modified] = found.map(BigInt) as [bigint, bigint]
    const view = this.#view()
    for (const [index, time] of [accessed, modified, modified].entries()) {
      view.setBigUint64(at + 8 * index, time < 0n ? 0n : time, true)
    }
  }

  #changeTimes(
    path: string | undefined,
    change: { readonly accessed: unknown; readonly modified: unknown; readonly flags: unknown },
  ): unknown {
    const flags = unsigned(change.flags)
    const has = (flag: number) => (flags & flag) !== 0
    if (has(times.accessed) && has(times.accessedNow)) return errno.invalid
    if (has(times.modified) && has(times.modifiedNow)) return errno.invalid
    const told = (time: unknown) => String(BigInt.asUintN(64, time as bigint))
    const accessed = has(times.accessed) ? told(change.accessed) : has(times.accessedNow) ? 'now' : null
    const modified = has(times.modified) ? told(change.modified) : has(times.modifiedNow) ? 'now' : null
    if (accessed === null && modified === null) return errno.success
    return path === undefined ? errno.notSupported : this.#ask('setTimes', path, accessed, modified)
  }

  #list(call: SystemCall, args: unknown[]): unknown {
    const [fd, at, length, , usedAt] = args.map(unsigned) as [number, number, number, number, number]
    const given = { at, length, usedAt }
    const cookie = args[3] as bigint
    const size = this.#bytes().length
    if (at + length > size || usedAt + 4 > size) return errno.fault
    let listing = this.#listings.get(fd)
    if (listing === undefined || cookie === 0n) listing = { entries: [], next: 0n }
    this.#listings.set(fd, listing)
    for (let before: bigint | null = -1n; listing.next !== null && listing.next !== before; ) {
      before = listing.next
      const result = this.#readOn(call, fd, listing, given)
      if (result !== errno.success) return result
    }
    this.#write(listing, Number(cookie), given)
    return errno.success
  }

  /**
   * Reads the next entries of a listing of the SDK. It writes into the program's memory, so the beginning of that is put aside
   * meanwhile. Other threads would miss it: with threads, there is only the place that the program gave.
   */
  #readOn(call: SystemCall, fd: number, listing: Listing, given: ListingPlace): unknown {
    const memory = this.#bytes()
    const isLent = memory.buffer instanceof ArrayBuffer
    const { at, length, usedAt } = isLent
      ? { usedAt: 0, at: 8, length: Math.min(lentBytes, memory.length) - 8 }
      : given
    const kept = memory.slice(0, isLent ? at + length : 0)
    const result = call(fd, at, length, listing.next, usedAt)
    if (result === errno.success) {
      const view = this.#view()
      const used = view.getUint32(usedAt, true)
      let head = at
      for (; head + entryHead <= at + used; ) {
        const end = head + entryHead + view.getUint32(head + 16, true)
        // The last one is cut if it does not fit.
        if (end > at + used) break
        const name = this.#bytes().slice(head + entryHead, end)
        const [inode, type] = [view.getBigUint64(head + 8, true), view.getUint8(head + 20)]
        listing.entries.push({ inode, type, name })
        listing.next = view.getBigUint64(head, true)
        head = end
      }
      if (used < length) listing.next = null
    }
    this.#bytes().set(kept)
    return result
  }

  /** Writes entries from a cookie on, which is the number of the entries before it. The last one is cut if it does not fit. */
  #write({ entries, next }: Listing, cookie: number, { at, length, usedAt }: ListingPlace): void {
    const memory = this.#bytes()
    const wanted = entries.slice(cookie, cookie + Math.ceil(length / entryHead))
    // More entries that did not fit: a program asks again, with more room, for an entry that is cut.
    if (next !== null) wanted.push({ inode: 0n, type: unknownType, name: new Uint8Array(longestName) })
    let used = 0
    for (const [index, { inode, type, name }] of wanted.entries()) {
      const bytes = new Uint8Array(entryHead + name.length)
      const entry = new DataView(bytes.buffer)
      entry.setBigUint64(0, BigInt(cookie + index + 1), true)
      entry.setBigUint64(8, inode, true)
      entry.setUint32(16, name.length, true)
      entry.setUint8(20, type)
      bytes.set(name, entryHead)
      const part = bytes.subarray(0, length - used)
      memory.set(part, at + used)
      used += part.length
      if (used === length) break
    }
    this.#view().setUint32(usedAt, used, true)
  }

  #view(): DataView {
    return new DataView((this.#memoryOf() as Memory).buffer)
  }

  #bytes(): Uint8Array {
    return new Uint8Array((this.#memoryOf() as Memory).buffer)
  }
}

function textAt({ buffer, byteLength }: DataView, at: number, length: number): string {
  const start = Math.min(at, byteLength)
  // A copy: decoders do not read shared memory.
  return Buffer.from(new Uint8Array(buffer, start, Math.min(length, byteLength - start))).toString()
}

/** JavaScript gets the integers of 32 bits with a sign. */
function unsigned(integer: unknown): number {
  return Number(integer) >>> 0
}
