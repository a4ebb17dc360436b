import type { FilesService, User, WasmModule } from '@nodekeep/plugin-sdk'
import { BoundedCache } from '../cache/bounded-cache.ts'
import { SharedWork } from '../cache/shared-work.ts'
import { GroupedLooks } from './grouped-looks.ts'
import { moduleChanged, moduleIsFolder, moduleTooLarge } from './module-failures.ts'
import { readModule } from './read-module.ts'

/** So many files are known by their revision. */
const mostKnown = 10_000

/** Bytes of modules that are held, as a multiple of the largest one. */
const heldModules = 4

/** So long a module may be read again for a runtime that asks for it, in milliseconds. */
const readTimeoutMs = 30_000

interface Known {
  readonly revision: string
  readonly module: WasmModule
}

/**
 * The modules in people's files. A file is read and hashed when it is first run in a revision; from then on, one look
 * at it tells that it is still the same. Bytes are held for a while, for runtimes that don't have the module any more.
 */
export class StoredModules {
  readonly #files: FilesService
  readonly #mostBytes: number
  readonly #looks: GroupedLooks
  readonly #known = new BoundedCache<string, Known>(mostKnown)
  readonly #bytes: BoundedCache<string, Uint8Array>
  readonly #reading = new SharedWork<Known>()

  /** @param mostBytes bytes of the largest module that is run */
  constructor(files: FilesService, mostBytes: number) {
    this.#files = files
    this.#mostBytes = mostBytes
    this.#looks = new GroupedLooks(files)
    this.#bytes = new BoundedCache(heldModules * mostBytes)
  }

  /**
   * The module in a file of a user, as it is now.
   *
   * @throws NodekeepError VALIDATION_ERROR for a folder or a bad path, NOT_FOUND, PAYLOAD_TOO_LARGE
   */
  async find(user: Pick<User, 'uuid'>, path: string, signal: AbortSignal): Promise<WasmModule> {
    const key = `${user.uuid}${path}`
    const entry = await this.#looks.at(key, user, path)
    if (entry.type === 'directory') throw moduleIsFolder(entry.path)
    const known = this.#known.get(key)
    if (known?.revision === entry.revision) return known.module
    if (entry.size > this.#mostBytes) throw moduleTooLarge(this.#mostBytes, entry.size)
    const read = await this.#reading.get(`${key}\0${entry.revision}`, signal, (until) =>
      this.#read(user, path, until),
    )
    this.#known.set(key, read, 1)
    return read.module
  }

  async #read(user: Pick<User, 'uuid'>, path: string, signal: AbortSignal): Promise<Known> {
    const { revision, hash, bytes } = await readModule(this.#files.for(user), path, this.#mostBytes, signal)
    this.#bytes.set(hash, bytes, bytes.length)
    const module = { hash, size: bytes.length, bytes: () => this.#bytesOf(user, path, hash) }
    return { revision, module }
  }

  async #bytesOf(user: Pick<User, 'uuid'>, path: string, hash: string): Promise<Uint8Array> {
    const held = this.#bytes.get(hash)
    if (held !== undefined) return held
    const signal = AbortSignal.timeout(readTimeoutMs)
    const read = await readModule(this.#files.for(user), path, this.#mostBytes, signal)
    if (read.hash !== hash) throw moduleChanged()
    this.#bytes.set(hash, read.bytes, read.bytes.length)
    return read.bytes
  }
}
