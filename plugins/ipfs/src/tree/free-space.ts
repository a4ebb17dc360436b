import { statfs } from 'node:fs/promises'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * Bytes of the disk that files never use; on a small disk, an eighth of it. On a disk that is full to the last byte, the node could not record
 * deletions.
 */
const mostReserved = 32 * 1024 * 1024
const smallDiskShare = 8

/** Milliseconds for which an answer of the system is used. */
const answerMs = 100

/** The space on the disk of a folder that files may still use. */
export class FreeSpace {
  readonly #folder: string
  #left = 0
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(folder: string) {
    this.#folder = folder
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if there is no space for more bytes of a file */
  async check(bytes: number): Promise<void> {
    if (this.#left < bytes || performance.now() - this.#askedAt > answerMs) await this.#ask()
    if (this.#left < bytes)
      throw new NodekeepError(
        'INSUFFICIENT_STORAGE',
        'The disk has no space for this file. Remove what is not needed, then try again.',
      )
  }

  /** As `check`, and counts the bytes as used. */
  async take(bytes: number): Promise<void> {
    await this.check(bytes)
    this.#left -= bytes
  }

  async #ask(): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(this.#folder)
    const reserved = Math.min(mostReserved, (blocks * bsize) / smallDiskShare)
    // File systems that cannot tell their space answer zero.
    this.#left = blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize - reserved
    this.#askedAt = performance.now()
  }
}
