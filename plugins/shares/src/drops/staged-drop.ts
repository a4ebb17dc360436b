import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { FileRoom } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'
import { lacksRoom, noRoom } from '../guests/no-room.ts'

const { O_RDWR, O_CREAT, O_NOFOLLOW = 0 } = constants

/** Bytes that are read at once. */
const readBytes = 256 * 1024

/** Bytes of a file that arrived, in a file of the plugin's folder, until they are a file of the maker. */
export class StagedDrop {
  readonly #path: string
  readonly #room: FileRoom
  readonly #onRemove: () => void
  received: number

  /**
   * @param room that of the maker, which holds all that is received
   * @param received bytes that are there already
   * @param onRemove called when the bytes are of no use any more
   */
  constructor(path: string, room: FileRoom, received: number, onRemove: () => void) {
    this.#path = path
    this.#room = room
    this.received = received
    this.#onRemove = onRemove
  }

  /**
   * Writes bytes behind those that are there. All that arrived are on the disk at the end, also if the content fails.
   *
   * @throws NodekeepError INSUFFICIENT_STORAGE; the error of the content
   */
  async receive(content: AsyncIterable<Uint8Array>): Promise<void> {
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 })
    const file = await open(this.#path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)
    try {
      try {
        for await (const chunk of content) await this.#append(file, chunk)
      } finally {
        await file.datasync()
      }
    } catch (error) {
      throw isDiskFull(error) ? noRoom(error) : error
    } finally {
      await file.close()
    }
  }

  /** Yields all bytes, in chunks whose memory the reader may free. */
  async *content(): AsyncGenerator<Uint8Array, void, undefined> {
    if (this.received === 0) return
    const file = await open(this.#path, O_RDWR | O_NOFOLLOW)
    try {
      for (let position = 0; position < this.received; ) {
        const chunk = Buffer.allocUnsafeSlow(Math.min(readBytes, this.received - position))
        const { bytesRead } = await file.read(chunk, 0, chunk.length, position)
        if (bytesRead === 0) throw new Error('The bytes of an upload are gone.')
        position += bytesRead
        yield bytesRead === chunk.length ? chunk : chunk.subarray(0, bytesRead)
      }
    } finally {
      await file.close()
    }
  }

  async remove(): Promise<void> {
    this.#onRemove()
    await rm(this.#path, { force: true })
  }

  async #append(file: FileHandle, chunk: Uint8Array): Promise<void> {
    // It has its room already. Others may have filled the disk meanwhile.
    await this.#room.extend(0).catch((error) => {
      throw lacksRoom(error) ? noRoom(error) : error
    })
    for (let at = 0; at < chunk.length; ) {
      const { bytesWritten } = await file.write(chunk, at, chunk.length - at, this.received)
      at += bytesWritten
      this.received += bytesWritten
    }
  }
}

/** The folder of all bytes that are not files yet. */
export class StagedDrops {
  readonly #folder: string
  /** The ids of the bytes that are in use. */
  readonly #open = new Set<string>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * @param id names the bytes: lower-case hexadecimal digits
   * @param room that of the maker, which holds all that is received
   * @param received bytes that are there already, as after a restart
   */
  open(id: string, room: FileRoom, received = 0): StagedDrop {
    this.#open.add(id)
    return new StagedDrop(join(this.#folder, id), room, received, () => this.#open.delete(id))
  }

  /** Removes all bytes that are not in use. */
  async sweep(): Promise<void> {
    for (const id of await readdir(this.#folder).catch(() => []))
      if (!this.#open.has(id)) await rm(join(this.#folder, id), { force: true })
  }
}
