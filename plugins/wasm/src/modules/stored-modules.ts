import { createHash } from 'node:crypto'
import { type FilesService, NodekeepError, type User, type WasmModule } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import { SharedWork } from '../shared-work.ts'

/** Files whose module is known. */
const knownFiles = 10_000
/** Largest modules whose bytes are kept, for runtimes that do not have the module any more. */
const keptModules = 4
/** Longest time to read a module again for a runtime that asks for it, in milliseconds. */
const readTimeoutMs = 30_000

interface Known {
  readonly revision: string
  readonly module: WasmModule
  /** When the file was last known to have this revision, as `performance.now()`. */
  readonly checkedAt: number
}

/**
 * The modules in users' files. A file is read and hashed when it is first run in a revision. From then on, a call needs a
 * check of the file's revision that began after the call arrived, by this call or by another one. So a file that was
 * changed before a call is never run in its old form, and calls that wait together usually share one check.
 */
export class StoredModules {
  readonly #files: FilesService
  readonly #mostBytes: number
  /** By user and path. */
  readonly #known = new LRUCache<string, Known>({ max: knownFiles })
  /** By hash. */
  readonly #bytes: LRUCache<string, Uint8Array>
  readonly #reading = new SharedWork<Known>()

  /** @param mostBytes bytes of the largest module that is run */
  constructor(files: FilesService, mostBytes: number) {
    this.#files = files
    this.#mostBytes = mostBytes
    this.#bytes = new LRUCache({
      maxSize: keptModules * mostBytes,
      sizeCalculation: ({ length }) => Math.max(length, 1),
    })
  }

  /**
   * Finds the module in a file of a user, as it was at some time since a call arrived.
   *
   * @param since when the call arrived, as `performance.now()`
   * @throws NodekeepError VALIDATION_ERROR for a folder or a bad path, NOT_FOUND, PAYLOAD_TOO_LARGE
   */
  async find(
    user: Pick<User, 'uuid'>,
    path: string,
    since: number,
    signal: AbortSignal,
  ): Promise<WasmModule> {
    const key = `${user.uuid}${path}`
    const known = this.#known.get(key)
    if (known !== undefined && known.checkedAt > since) return known.module
    const checkedAt = performance.now()
    const entry = await this.#files.for(user).stat(path)
    if (entry.type === 'directory') throw moduleIsFolder(entry.path)
    if (known?.revision === entry.revision) {
      this.#known.set(key, { ...known, checkedAt })
      return known.module
    }
    if (entry.size > this.#mostBytes) throw moduleTooLarge(this.#mostBytes, entry.size)
    const read = await this.#reading.get(`${key}\0${entry.revision}`, signal, (until) =>
      this.#learn(user, path, until),
    )
    this.#known.set(key, read)
    return read.module
  }

  async #learn(user: Pick<User, 'uuid'>, path: string, signal: AbortSignal): Promise<Known> {
    const checkedAt = performance.now()
    const { revision, hash, bytes } = await this.#read(user, path, signal)
    this.#bytes.set(hash, bytes)
    return {
      revision,
      module: { hash, size: bytes.length, bytes: () => this.#bytesOf(user, path, hash) },
      checkedAt,
    }
  }

  async #bytesOf(user: Pick<User, 'uuid'>, path: string, hash: string): Promise<Uint8Array> {
    const kept = this.#bytes.get(hash)
    if (kept !== undefined) return kept
    const read = await this.#read(user, path, AbortSignal.timeout(readTimeoutMs))
    if (read.hash !== hash) throw moduleChanged()
    this.#bytes.set(hash, read.bytes)
    return read.bytes
  }

  /** Reads a file whole and hashes it with SHA-256. */
  async #read(
    user: Pick<User, 'uuid'>,
    path: string,
    signal: AbortSignal,
  ): Promise<{ readonly revision: string; readonly hash: string; readonly bytes: Uint8Array }> {
    const { entry, content } = await this.#files.for(user).read(path, { reuseBuffers: true, signal })
    const bytes = Buffer.allocUnsafeSlow(Math.min(entry.size, this.#mostBytes))
    const hashing = createHash('sha256')
    let length = 0
    for await (const chunk of content) {
      if (entry.size > this.#mostBytes) throw moduleTooLarge(this.#mostBytes, entry.size)
      if (length + chunk.length > entry.size) throw moduleChanged()
      bytes.set(chunk, length)
      length += chunk.length
      hashing.update(chunk)
    }
    if (length < entry.size) throw moduleChanged()
    return { revision: entry.revision, hash: hashing.digest('hex'), bytes }
  }
}

/** The failure of a run whose module has more bytes than modules may have. */
export function moduleTooLarge(mostBytes: number, size: number): NodekeepError {
  return new NodekeepError(
    'PAYLOAD_TOO_LARGE',
    `File too large: a module may have at most ${mostBytes} bytes (wasm.moduleMB). It has ${size} bytes.`,
  )
}

function moduleIsFolder(path: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', `"${path}" is a folder. Name the file of a module.`)
}

/** The file was replaced between the check of its revision and its reading. */
function moduleChanged(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The module was replaced just now. Try again.', {
    headers: { 'retry-after': '1' },
  })
}
