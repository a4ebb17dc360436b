import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { noSuchUpload } from './uploads.ts'

const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants

/** Bytes of the disk that uploads leave free, so that files can still be written and deleted. */
const leftFree = 64 * 1024 * 1024

/** Bytes that all uploads write until the free space is looked up again. */
const lookUpBytes = 8 * 1024 * 1024

/** Bytes, and chunks, that are written with one call. An upload holds two such batches, however large it is. */
const batchBytes = 256 * 1024
const batchChunks = 1024

/** Freeing smaller chunks by hand takes longer than the garbage collection does, in bytes. */
const minFreedBytes = 16 * 1024

/** Milliseconds after which received bytes are on the disk, and count. A killed node loses what came after them. */
const checkpointMs = 5000

/** How bytes are received. */
interface ReceiveOptions {
  /** The offset of the first byte. */
  readonly start: number
  /** The offset that the bytes may not pass. */
  readonly most: number
  /** The offset at which the upload is complete; null if it is not known. */
  readonly length: number | null
  /** Records that all bytes before an offset are on the disk. */
  record(offset: number): void
}

/** The bytes of unfinished uploads: a file for each, in a folder for each user. */
export class StagedFiles {
  readonly #folder: string
  /** Bytes that can be written before the free space is looked up again. */
  #allowance = 0

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Writes bytes at their offset. Whether or not the content ends with an error, all received bytes are on the disk and recorded then.
   * Only those that complete the upload are not: the file is made of them at once.
   *
   * @returns the offset of the next byte
   * @throws NodekeepError INSUFFICIENT_STORAGE, PAYLOAD_TOO_LARGE, NOT_FOUND if the file is gone; the error of the content
   */
  async receive(
    userUuid: string,
    id: string,
    content: AsyncIterable<Uint8Array>,
    options: ReceiveOptions,
  ): Promise<number> {
    const { start, length, record } = options
    await mkdir(join(this.#folder, userUuid), { recursive: true, mode: 0o700 })
    const file = await this.#open(userUuid, id, O_RDWR | (start === 0 ? O_CREAT : 0))
    const writer = new Writer(file, start, (bytes) => this.#takeSpace(bytes), record)
    try {
      try {
        await writer.writeAll(content, options.most)
      } catch (error) {
        await writer.settle()
        throw error
      }
      if (writer.written !== length) await writer.settle()
      else await writer.checkpointed
      return writer.written
    } catch (error) {
      throw isDiskFull(error) ? diskFull(error) : error
    } finally {
      await file.close()
    }
  }

  /** Makes the bytes of a complete upload durable, when the file could not be made of them. */
  async sync(userUuid: string, id: string): Promise<void> {
    const file = await this.#open(userUuid, id, O_RDWR | O_CREAT)
    try {
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  /** Yields the bytes of an upload, in chunks whose memory the reader may free. */
  async *read(userUuid: string, id: string, size: number): AsyncGenerator<Uint8Array, void, undefined> {
    if (size === 0) return
    const file = await this.#open(userUuid, id, O_RDWR)
    try {
      for (let position = 0; position < size; ) {
        const chunk = Buffer.allocUnsafeSlow(Math.min(batchBytes, size - position))
        const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
        if (bytesRead === 0) throw noSuchUpload()
        position += bytesRead
        yield bytesRead === chunk.length ? chunk : chunk.subarray(0, bytesRead)
      }
    } finally {
      await file.close()
    }
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if the disk has no room for some bytes */
  async refuseWithoutSpace(bytes: number): Promise<void> {
    if ((await this.#freeSpace()) < bytes) throw diskFull()
  }

  async remove(userUuid: string, id: string): Promise<void> {
    await rm(this.#pathOf(userUuid, id), { force: true })
  }

  /** Removes all files that a function does not know. */
  async sweep(isKnown: (userUuid: string, id: string) => boolean): Promise<void> {
    for (const userUuid of await readdir(this.#folder).catch(() => []))
      for (const id of await readdir(join(this.#folder, userUuid)))
        if (!isKnown(userUuid, id)) await this.remove(userUuid, id)
  }

  async erase(userUuid: string): Promise<void> {
    await rm(join(this.#folder, userUuid), { recursive: true, force: true })
  }

  async #open(userUuid: string, id: string, flags: number): Promise<FileHandle> {
    return open(this.#pathOf(userUuid, id), flags | O_NOFOLLOW, 0o600).catch((error) => {
      throw error.code === 'ENOENT' ? noSuchUpload() : error
    })
  }

  async #takeSpace(bytes: number): Promise<void> {
    this.#allowance -= bytes
    if (this.#allowance >= 0) return
    const free = await this.#freeSpace()
    if (free < bytes) throw diskFull()
    this.#allowance = Math.min(free, lookUpBytes) - bytes
  }

  /** Bytes that uploads may still take. */
  async #freeSpace(): Promise<number> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 })
    const { blocks, bavail, bsize } = await statfs(this.#folder)
    return blocks === 0 ? Number.MAX_SAFE_INTEGER : bavail * bsize - leftFree
  }

  #pathOf(userUuid: string, id: string): string {
    return join(this.#folder, userUuid, id)
  }
}

/** Writes chunks into a file, one batch while the next one arrives. */
class Writer {
  readonly #file: FileHandle
  readonly #takeSpace: (bytes: number) => Promise<void>
  readonly #record: (offset: number) => void
  /** The offset of the next byte to write. */
  written: number
  /** Resolves when the last checkpoint has ended. It never rejects. */
  checkpointed: Promise<void> = Promise.resolve()
  #isCheckpointing = false
  #checkpointAt = Date.now() + checkpointMs

  constructor(
    file: FileHandle,
    start: number,
    takeSpace: (bytes: number) => Promise<void>,
    record: (offset: number) => void,
  ) {
    this.#file = file
    this.written = start
    this.#takeSpace = takeSpace
    this.#record = record
  }

  /** @throws NodekeepError PAYLOAD_TOO_LARGE; the error of the content or of the disk. What came before it is written */
  async writeAll(content: AsyncIterable<Uint8Array>, most: number): Promise<void> {
    let batch: Uint8Array[] = []
    let batched = 0
    let writing: Promise<void> = Promise.resolve()
    const flush = async () => {
      await writing
      writing = this.#write(batch, batched)
      // The next `await writing` reports its failure.
      writing.catch(() => {})
      batch = []
      batched = 0
    }
    let left = most - this.written
    try {
      for await (const chunk of content) {
        left -= chunk.length
        if (left < 0) throw tooLarge()
        batch.push(chunk)
        batched += chunk.length
        if (batched >= batchBytes || batch.length === batchChunks) await flush()
      }
    } finally {
      await flush()
      await writing
    }
  }

  /** Makes all written bytes durable, and records them. */
  async settle(): Promise<void> {
    await this.checkpointed
    await this.#checkpoint()
  }

  async #write(batch: readonly Uint8Array[], bytes: number): Promise<void> {
    if (bytes === 0) return
    await this.#takeSpace(bytes)
    let left = batch
    while (left.length > 0) {
      const { bytesWritten } = await this.#file.writev(left, this.written)
      this.written += bytesWritten
      left = after(left, bytesWritten)
    }
    free(batch)
    if (this.#isCheckpointing || Date.now() < this.#checkpointAt) return
    this.#isCheckpointing = true
    // A failure is reported by the checkpoint at the end.
    this.checkpointed = this.#checkpoint()
      .catch(() => {})
      .finally(() => {
        this.#isCheckpointing = false
        this.#checkpointAt = Date.now() + checkpointMs
      })
  }

  async #checkpoint(): Promise<void> {
    const offset = this.written
    await this.#file.datasync()
    this.#record(offset)
  }
}

/** Frees the memory of chunks that fill their buffers. The garbage collection would let those of a large upload pile up. */
function free(chunks: readonly Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks) {
    const isWhole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
    if (isWhole && byteLength >= minFreedBytes) buffer.transfer(0)
  }
}

/** Returns the buffers without their first bytes. */
function after(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let skipped = 0
  for (const [index, buffer] of buffers.entries()) {
    if (skipped + buffer.length > count)
      return [buffer.subarray(count - skipped), ...buffers.slice(index + 1)]
    skipped += buffer.length
  }
  return []
}

function tooLarge(): NodekeepError {
  return new NodekeepError('PAYLOAD_TOO_LARGE', 'The request has more bytes than the upload lacks.')
}

function diskFull(cause?: unknown): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk of the node is full. Delete files that are no longer needed.',
    { cause },
  )
}
