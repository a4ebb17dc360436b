import { createHash } from 'node:crypto'
import { constants, fstatSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { LocalContent, LocalFileEntry } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import { fileEntry } from './file-identity.ts'

/** Files up to this size are kept in memory between hashing and sending, in bytes. */
const mostInMemory = 4 * 1024 * 1024

const chunkBytes = 1024 * 1024

/** A named pipe that has taken the place of the file would wait for a writer. Windows has neither flag. */
const readOnly = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)

/** A file that is open for reading. Its bytes are all of one version, or reading fails. */
class OpenFile implements LocalContent {
  readonly size: number
  readonly modified: number
  sha256 = ''
  readonly #handle: FileHandle
  readonly #identity: string
  #bytes: Buffer | null = null

  constructor(handle: FileHandle, { size, modified, identity }: LocalFileEntry) {
    this.#handle = handle
    this.size = size
    this.modified = modified
    this.#identity = identity
  }

  /** Hashes the file. */
  async load(): Promise<void> {
    const hash = createHash('sha256')
    const chunks: Buffer[] = []
    this.#verify()
    for await (const chunk of this.#chunks(0, this.size)) {
      hash.update(chunk)
      if (this.size <= mostInMemory) chunks.push(chunk)
    }
    this.sha256 = hash.digest('hex')
    if (this.size <= mostInMemory) this.#bytes = Buffer.concat(chunks)
  }

  async *read(start = 0, end = this.size): AsyncIterable<Uint8Array> {
    if (this.#bytes === null) {
      yield* this.#chunks(start, end)
    } else {
      this.#verify()
      yield this.#bytes.subarray(start, end)
    }
  }

  async close(): Promise<void> {
    await this.#handle.close()
  }

  /** The last chunk comes only if the file was the same until then. */
  async *#chunks(start: number, end: number): AsyncIterable<Buffer> {
    for (let at = start; at < end; ) {
      const length = Math.min(chunkBytes, end - at)
      const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(length), 0, length, at)
      if (bytesRead === 0) throw changed()
      at += bytesRead
      if (at >= end) this.#verify()
      yield buffer.subarray(0, bytesRead)
    }
  }

  /** The file is open, so this need not wait for the disk. With a thread, it would take a tenth of the time of small uploads. */
  #verify(): void {
    const { identity } = fileEntry(fstatSync(this.#handle.fd, { bigint: true }))
    if (identity !== this.#identity) throw changed()
  }
}

/**
 * Opens a file that has an identity, and hashes it.
 *
 * @throws SyncFailure `changed` if it has another identity; errors of the disk
 */
export async function openContent(file: string, entry: LocalFileEntry): Promise<LocalContent> {
  const handle = await open(file, readOnly)
  const content = new OpenFile(handle, entry)
  try {
    await content.load()
    return content
  } catch (error) {
    await handle.close()
    throw error
  }
}

function changed(): SyncFailure {
  return new SyncFailure('changed', 'The file changes while it is read.')
}
