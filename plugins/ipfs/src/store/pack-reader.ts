import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { isBlockOf } from './block-hash.ts'
import type { IndexedBlock } from './block-index.ts'
import { packName } from './pack-format.ts'

/** Reads blocks in the writer thread. The pack of the last one stays open. */
export class PackReader {
  readonly #folder: string
  #open: { readonly pack: number; readonly descriptor: number } | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Returns the bytes of a block; null if they are missing or damaged. */
  read({ cid, pack, position, length }: IndexedBlock): Uint8Array | null {
    const bytes = new Uint8Array(length)
    try {
      if (readInto(bytes, this.#descriptor(pack), position) < length) return null
    } catch (error) {
      if (['ENOENT', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
      throw error
    }
    return isBlockOf(cid, bytes) ? bytes : null
  }

  close(): void {
    if (this.#open !== null) closeSync(this.#open.descriptor)
    this.#open = null
  }

  #descriptor(pack: number): number {
    if (this.#open?.pack !== pack) {
      this.close()
      this.#open = { pack, descriptor: openSync(join(this.#folder, packName(pack)), 'r') }
    }
    return this.#open.descriptor
  }
}

/**
 * Fills memory with the bytes of a file from a position on.
 *
 * @returns the number of bytes that it has read: fewer where the file ends
 * @throws the error of the disk
 */
export function readInto(bytes: Uint8Array, descriptor: number, position: number): number {
  let filled = 0
  while (filled < bytes.length) {
    const read = readSync(descriptor, bytes, filled, bytes.length - filled, position + filled)
    if (read === 0) break
    filled += read
  }
  return filled
}
