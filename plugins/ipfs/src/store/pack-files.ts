import { type FileHandle, open, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { packName } from './pack-format.ts'

/** Files of packs that are open for reading at the same time, beside those that are being read. */
const mostOpen = 32

interface OpenPack {
  readonly file: Promise<FileHandle>
  /** Readings that have begun. */
  uses: number
}

/** Reads from packs. A file stays open while it is often read. */
export class PackFiles {
  readonly #folder: string
  /** The least recently used first. */
  readonly #open = new Map<number, OpenPack>()
  #isClosed = false

  constructor(folder: string) {
    this.#folder = folder
  }

  /**
   * Reads bytes of a pack.
   *
   * @param memory for the bytes, if it is large enough
   * @returns fewer bytes where the pack ends
   * @throws Error ENOENT if there is no such pack (any more)
   */
  async read(
    pack: number,
    position: number,
    length: number,
    memory?: Uint8Array<ArrayBuffer>,
  ): Promise<Uint8Array<ArrayBuffer>> {
    const opened = this.#opened(pack)
    opened.uses += 1
    try {
      const file = await opened.file
      // Not of the pool of buffers: readers transfer and keep blocks.
      const bytes =
        memory !== undefined && memory.length >= length ? memory.subarray(0, length) : new Uint8Array(length)
      let filled = 0
      while (filled < length) {
        const { bytesRead } = await file.read(bytes, filled, length - filled, position + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return bytes.subarray(0, filled)
    } finally {
      opened.uses -= 1
      await this.#trim(pack, opened)
    }
  }

  /** Deletes a pack that nothing names any more. Readings of it that have begun go on. */
  async delete(pack: number): Promise<void> {
    await unlink(join(this.#folder, packName(pack)))
    const opened = this.#open.get(pack)
    this.#open.delete(pack)
    if (opened?.uses === 0) await closeFile(opened)
  }

  /** Closes all files. Readings that have begun go on. */
  async close(): Promise<void> {
    this.#isClosed = true
    const idle = Array.from(this.#open.values()).filter(({ uses }) => uses === 0)
    this.#open.clear()
    await Promise.all(idle.map(closeFile))
  }

  #opened(pack: number): OpenPack {
    const opened = this.#open.get(pack) ?? { file: open(join(this.#folder, packName(pack))), uses: 0 }
    if (this.#isClosed) return opened
    this.#open.delete(pack)
    this.#open.set(pack, opened)
    return opened
  }

  /** Closes a file after its last reading if it is not kept, or the least recently used one. */
  async #trim(pack: number, opened: OpenPack): Promise<void> {
    if (this.#open.get(pack) !== opened) return opened.uses === 0 ? closeFile(opened) : undefined
    const isOpen = await opened.file.then(() => true).catch(() => false)
    if (!isOpen && this.#open.get(pack) === opened) this.#open.delete(pack)
    if (this.#open.size <= mostOpen) return
    for (const [other, idle] of this.#open) {
      if (idle.uses > 0) continue
      this.#open.delete(other)
      return closeFile(idle)
    }
  }
}

async function closeFile({ file }: OpenPack): Promise<void> {
  const handle = await file.catch(() => null)
  await handle?.close()
}
