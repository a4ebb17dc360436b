import { createWriteStream, existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { makeFolder } from '@nodekeep/plugin-sdk/durable-files'
import { readHeader } from '../archive/read-archive.ts'
import { explainFullDisk, requireFreeSpace } from '../create/free-space.ts'
import { nameOf } from '../stored/backup-folder.ts'

/** A backup that a person has uploaded. */
interface Uploaded {
  readonly file: string
  /** Bytes. */
  readonly size: number
  /** The moment of its state. */
  readonly created: Date
  readonly encrypted: boolean
}

/** Bytes after which the free space is checked again. */
const checkEveryBytes = 16 * 1024 * 1024

/** The first byte of a gzip file (RFC 1952, section 2.3.1), as every backup is one. */
const gzipMagic = 0x1f

/** The purpose of the space, in messages. */
const purpose = 'this backup'

/** Keeps the one backup that a person uploads to restore it. It survives no restart: the node begins with none. */
export class UploadedBackup {
  readonly #folder: string
  readonly #signal: AbortSignal
  #uploaded: Uploaded | null = null
  #isBusy = false

  /** @param signal aborted when the plugin stops */
  constructor(folder: string, signal: AbortSignal) {
    this.#folder = folder
    this.#signal = signal
  }

  /**
   * The backup that was uploaded last.
   *
   * @throws NodekeepError NOT_FOUND if there is none
   */
  get(): Uploaded {
    if (this.#uploaded !== null) return this.#uploaded
    throw new NodekeepError('NOT_FOUND', 'No backup is here. Upload it again.')
  }

  /**
   * Receives a backup in place of the one before. Only its beginning is read: a restore verifies all of it.
   *
   * @param size bytes, if the client tells it
   * @param left aborted when the client leaves
   * @throws NodekeepError CONFLICT while another one is received or restored, VALIDATION_ERROR for what is no backup,
   *   INSUFFICIENT_STORAGE, or the reason of a signal
   */
  receive(content: AsyncIterable<Uint8Array>, size: number | null, left: AbortSignal): Promise<Uploaded> {
    return this.alone(async () => {
      await this.#remove()
      await makeFolder(this.#folder)
      const file = join(this.#folder, 'uploaded.tar.gz')
      try {
        await requireFreeSpace(this.#folder, size ?? 0, purpose)
        const written = createWriteStream(file, { flags: 'wx', mode: 0o600 })
        const signal = AbortSignal.any([left, this.#signal])
        await pipeline(this.#bounded(content), written, { signal })
        const { header, encrypted } = await readHeader(file)
        const created = new Date(header.created)
        // Messages and folders of the restore have the name of the backup.
        const named = join(this.#folder, nameOf(created))
        await rename(file, named)
        this.#uploaded = { file: named, size: written.bytesWritten, created, encrypted }
        return this.#uploaded
      } catch (error) {
        await this.#remove()
        throw explainFullDisk(error, purpose)
      }
    })
  }

  /** Removes the backup. */
  async remove(): Promise<void> {
    await this.alone(() => this.#remove())
  }

  /**
   * Runs something for which the backup must stay as it is.
   *
   * @throws NodekeepError CONFLICT while something else runs
   */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isBusy)
      throw new NodekeepError(
        'CONFLICT',
        'A backup is being uploaded or read already, perhaps in another tab. Try again when that has ended.',
      )
    this.#isBusy = true
    try {
      return await work()
    } finally {
      this.#isBusy = false
    }
  }

  /** Removes what a former process has left. */
  async removeLeft(): Promise<void> {
    if (!this.#isBusy && this.#uploaded === null && existsSync(this.#folder)) await this.#remove()
  }

  async #remove(): Promise<void> {
    this.#uploaded = null
    await rm(this.#folder, { recursive: true, force: true })
  }

  async *#bounded(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let unchecked = checkEveryBytes
    let isFirst = true
    for await (const chunk of content) {
      if (isFirst && chunk[0] !== gzipMagic) throw noBackup()
      isFirst = false
      unchecked += chunk.length
      if (unchecked >= checkEveryBytes) {
        unchecked = 0
        await requireFreeSpace(this.#folder, 0, purpose)
      }
      yield chunk
    }
    if (isFirst) throw noBackup()
  }
}

/** Another large file is refused at its beginning. */
function noBackup(): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    'This file is no backup. Choose a file that is named like "backup-20261120-123456.tar.gz".',
  )
}
