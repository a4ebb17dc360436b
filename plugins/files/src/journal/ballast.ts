import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Bytes: room for the notes of some hundred removals. */
const size = 4 * 1024 * 1024

/** After so long it is tried again to make what could not be made, in milliseconds. */
const retryMs = 60_000

/**
 * A file that is of no use but to be given up when the disk is full. The journal has to note a removal before it
 * happens: without that room nobody could free any.
 */
export class Ballast {
  readonly #file: string
  #isThere: boolean
  #retryAfter = 0

  /** @param file a path on the disk of the journal */
  constructor(file: string) {
    this.#file = file
    this.#isThere = statSync(file, { throwIfNoEntry: false })?.size === size
  }

  /** Makes the file if it is missing and the disk has twice the room for it. Never throws. */
  restore(): void {
    if (this.#isThere || Date.now() < this.#retryAfter) return
    try {
      if (roomBeside(this.#file) < 2 * size) return
      this.#make()
      this.#isThere = true
    } catch {
      this.#retryAfter = Date.now() + retryMs
      this.#isThere = true
      this.giveUp()
    }
  }

  /**
   * Frees the room.
   *
   * @returns whether there was any to free
   */
  giveUp(): boolean {
    if (!this.#isThere) return false
    this.#isThere = false
    try {
      rmSync(this.#file)
      return true
    } catch {
      return false
    }
  }

  #make(): void {
    const descriptor = openSync(this.#file, 'w', 0o600)
    try {
      // Random, since some file systems pack what they store.
      const bytes = randomBytes(size)
      for (let written = 0; written < size; ) written += writeSync(descriptor, bytes, written)
      fsyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
}

/** Bytes that are free where a file is to be. */
function roomBeside(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize
}
