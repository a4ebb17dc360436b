import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { ChunkBatch, type FileRoom, type FilesService, NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { noSuchUpload } from './uploads.ts'

const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants

/** Bytes that are read with one call. */
const readBytes = 256 * 1024

/** Milliseconds after which received bytes are on the disk, and count. A killed node loses what came after them. */
const checkpointMs = 5000

/** How bytes are received. */
interface ReceiveOptions {
  /** The offset of the first byte. */
  readonly start: number
  /** The offset that the bytes may not pass. */
  readonly most: number
  /** The offset after all bytes, as far as it is known. The upload gets its room before any of them is read. */
  readonly end: number
  /** The offset at which the upload is complete; null if it is not known. */
  readonly length: number | null
  /** Records that all bytes before an offset are on the disk. */
  record(offset: number): void
}

/** The bytes of unfinished uploads: a file for each, in a folder for each user. They count as room that their user takes. */
export class StagedFiles {
  readonly #folder: string
  readonly #files: Pick<FilesService, 'holdRoom'>
  /** The room of each upload, by its file. */
  readonly #rooms = new Map<string, FileRoom>()

  constructor(folder: string, files: Pick<FilesService, 'holdRoom'>) {
    this.#folder = folder
    this.#files = files
  }

  /** Holds the room of an upload of which bytes are stored, as after a restart. */
  hold(userUuid: string, id: string, bytes: number): FileRoom {
    const file = this.#pathOf(userUuid, id)
    this.#rooms.get(file)?.release()
    const room = this.#files.holdRoom({ uuid: userUuid }, bytes)
    this.#rooms.set(file, room)
    return room
  }

  /** The room of an upload, which the file that is made of it takes over. */
  roomOf(userUuid: string, id: string): FileRoom {
    return this.#rooms.get(this.#pathOf(userUuid, id)) ?? this.hold(userUuid, id, 0)
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
    const { start, end, length, record } = options
    const room = this.roomOf(userUuid, id)
    if (end > room.bytes) await room.extend(end - room.bytes)
    const file = await this.#open(userUuid, id, O_RDWR | (start === 0 ? O_CREAT : 0))
    const writer = new Writer(file, start, room, record)
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
      room.reduce(room.bytes - writer.written)
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
        const chunk = Buffer.allocUnsafeSlow(Math.min(readBytes, size - position))
        const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
        if (bytesRead === 0) throw noSuchUpload()
        position += bytesRead
        yield bytesRead === chunk.length ? chunk : chunk.subarray(0, bytesRead)
      }
    } finally {
      await file.close()
    }
  }

  async remove(userUuid: string, id: string): Promise<void> {
    const file = this.#pathOf(userUuid, id)
    await rm(file, { force: true })
    this.#rooms.get(file)?.release()
    this.#rooms.delete(file)
  }

  /** Removes all files that a function does not know. */
  async sweep(isKnown: (userUuid: string, id: string) => boolean): Promise<void> {
    for (const userUuid of await readdir(this.#folder).catch(() => []))
      for (const id of await readdir(join(this.#folder, userUuid)))
        if (!isKnown(userUuid, id)) await this.remove(userUuid, id)
  }

  async erase(userUuid: string): Promise<void> {
    for (const [file, room] of this.#rooms) {
      if (!file.startsWith(this.#pathOf(userUuid, ''))) continue
      room.release()
      this.#rooms.delete(file)
    }
    await rm(join(this.#folder, userUuid), { recursive: true, force: true })
  }

  async #open(userUuid: string, id: string, flags: number): Promise<FileHandle> {
    if (flags & O_CREAT) await mkdir(join(this.#folder, userUuid), { recursive: true, mode: 0o700 })
    return open(this.#pathOf(userUuid, id), flags | O_NOFOLLOW, 0o600).catch((error) => {
      throw error.code === 'ENOENT' ? noSuchUpload() : error
    })
  }

  #pathOf(userUuid: string, id: string): string {
    return join(this.#folder, userUuid, id)
  }
}

/** Writes chunks into a file, one batch while the next one arrives. */
class Writer {
  readonly #file: FileHandle
  readonly #room: FileRoom
  readonly #record: (offset: number) => void
  /** The offset of the next byte to write. */
  written: number
  /** Resolves when the last checkpoint has ended. It never rejects. */
  checkpointed: Promise<void> = Promise.resolve()
  #isCheckpointing = false
  #checkpointAt = Date.now() + checkpointMs

  constructor(file: FileHandle, start: number, room: FileRoom, record: (offset: number) => void) {
    this.#file = file
    this.written = start
    this.#room = room
    this.#record = record
  }

  /** @throws NodekeepError PAYLOAD_TOO_LARGE; the error of the content or of the disk. What came before it is written */
  async writeAll(content: AsyncIterable<Uint8Array>, most: number): Promise<void> {
    let batch = new ChunkBatch()
    let writing: Promise<void> = Promise.resolve()
    const flush = async () => {
      await writing
      writing = this.#write(batch)
      // The next `await writing` reports its failure.
      writing.catch(() => {})
      batch = new ChunkBatch()
    }
    let left = most - this.written
    try {
      for await (const chunk of content) {
        left -= chunk.length
        if (left < 0) throw tooLarge()
        if (batch.add(chunk)) await flush()
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

  async #write(batch: ChunkBatch): Promise<void> {
    if (batch.bytes === 0) return
    const lacking = this.written + batch.bytes - this.#room.bytes
    if (lacking > 0) await this.#room.extend(lacking)
    const writev = async (chunks: readonly Uint8Array[], position: number) => {
      const { bytesWritten } = await this.#file.writev(chunks, position)
      this.written += bytesWritten
      return bytesWritten
    }
    await batch.write(writev, this.written)
    batch.free()
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
