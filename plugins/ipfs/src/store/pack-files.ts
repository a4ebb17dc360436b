import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { packName } from './pack-format.ts'

/** Files of packs that are open for reading at the same time. */
const mostOpen = 32

/** Reads from packs. A file stays open while it is often read. */
export class PackFiles {
  readonly #folder: string
  /** The least recently used first. */
  readonly #open = new Map<number, Promise<FileHandle>>()
  readonly #uses = new Map<number, number>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Reads bytes of a pack.
   *
   * @returns fewer bytes where the pack ends
   * @throws Error ENOENT if there is no such pack (any more)
   */
  async read(pack: number, position: number, length: number): Promise<Uint8Array> {
    this.#uses.set(pack, (this.#uses.get(pack) ?? 0) + 1)
    try {
      const file = await this.#file(pack)
      // Not of the pool of buffers: readers transfer and keep blocks.
      const bytes = new Uint8Array(length)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    } finally {
      const left = (this.#uses.get(pack) ?? 0) - 1
      if (left > 0) this.#uses.set(pack, left)
      else this.#uses.delete(pack)
      await this.#trim()
    }
  }

  /** Deletes a pack that nothing names any more. Readings of it that have begun go on. */
  async delete(pack: number): Promise<void> {
    await unlink(join(this.#folder, packName(pack)))
    if (!this.#uses.has(pack)) await this.#close(pack)
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#open.keys(), (pack) => this.#close(pack)))
  }

  #file(pack: number): Promise<FileHandle> {
    const file = this.#open.get(pack) ?? open(join(this.#folder, packName(pack)))
    this.#open.delete(pack)
    this.#open.set(pack, file)
    file.catch(() => this.#open.delete(pack))
    return file
  }

  async #trim(): Promise<void> {
    if (this.#open.size <= mostOpen) return
    for (const pack of this.#open.keys()) {
      if (!this.#uses.has(pack)) return this.#close(pack)
    }
  }

  async #close(pack: number): Promise<void> {
    const file = this.#open.get(pack)
    this.#open.delete(pack)
    await (await file?.catch(() => null))?.close()
  }
}
