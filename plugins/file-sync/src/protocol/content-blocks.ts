/** A part of a file: its SHA-256, in hexadecimal, and its bytes. */
export interface Block {
  readonly sha256: string
  readonly size: number
}

/** The content of a file: its SHA-256, in hexadecimal, its bytes, and its blocks in order. An empty file has no block. */
export interface Content {
  readonly sha256: string
  readonly size: number
  readonly blocks: readonly Block[]
}

/** A running SHA-256, such as that of `createHash('sha256')` of `node:crypto`. */
interface RunningHash {
  update(bytes: Uint8Array): unknown
  digest(encoding: 'hex'): string
}

const kibibyte = 1024
/** Blocks that a file has on average before blocks of twice the size are cut. */
const mostBlocks = 8192
const smallestAverage = 256 * kibibyte
const largestAverage = 16 * kibibyte * kibibyte

/** The least bytes of a block that does not end its file. */
export const smallestBlock = smallestAverage / 4

/** The most bytes of a block of any file. */
export const largestBlock = 4 * largestAverage

/**
 * Cuts a file into blocks where its content says so, and hashes them. If bytes are inserted, the blocks before and after them
 * stay the same. Both sides of sync must cut equally, so everything here is part of the protocol.
 *
 * The cuts are those of FastCDC with normalized chunking of level 2 (Xia et al., USENIX ATC 2016), with a gear table of our own.
 * Blocks have 64 KiB to 1 MiB, 256 KiB on average. Files above 2 GiB have larger blocks, by powers of two.
 *
 * @example
 * const blocks = new ContentBlocks(size, () => createHash('sha256'))
 * for await (const bytes of content) blocks.add(bytes)
 * const { sha256 } = blocks.end()
 */
export class ContentBlocks {
  readonly #newHash: () => RunningHash
  readonly #average: number
  readonly #blocks: Block[] = []
  readonly #whole: RunningHash
  #size = 0
  #block: RunningHash
  #blockSize = 0
  /** The rolling hash of the last 32 bytes of the block. */
  #rolling = 0

  /** @param size bytes of the whole file, which decide about the sizes of blocks */
  constructor(size: number, newHash: () => RunningHash) {
    this.#newHash = newHash
    this.#average = smallestAverage
    while (size > this.#average * mostBlocks && this.#average < largestAverage) this.#average *= 2
    this.#whole = newHash()
    this.#block = newHash()
  }

  add(bytes: Uint8Array): void {
    this.#whole.update(bytes)
    this.#size += bytes.length
    for (let start = 0; start < bytes.length; ) {
      const end = this.#cut(bytes, start)
      this.#block.update(bytes.subarray(start, end.at))
      if (end.isCut) this.#endBlock()
      start = end.at
    }
  }

  /** Returns the content when all bytes were added. */
  end(): Content {
    if (this.#blockSize > 0) this.#endBlock()
    return { sha256: this.#whole.digest('hex'), size: this.#size, blocks: this.#blocks }
  }

  /** Finds the end of the block in some bytes. */
  #cut(bytes: Uint8Array, start: number): { readonly at: number; readonly isCut: boolean } {
    const average = this.#average
    // Positions in these bytes at which the block has its smallest, average and largest size.
    const first = start - this.#blockSize
    const end = Math.min(bytes.length, first + average * 4)
    const normal = Math.min(end, first + average)
    let at = Math.max(start, Math.min(end, first + average / 4))
    let hash = this.#rolling
    // The highest bits of the hash, as many as the average has, would be 0 once in `average` bytes. Two more bits must be 0 before
    // the average size, and two less after it.
    const shift = Math.clz32(average) + 1
    const before = shift - 2
    const after = shift + 2
    let isCut = false
    while (at < normal && !isCut) {
      hash = ((hash << 1) + (gear[bytes[at++] as number] as number)) | 0
      isCut = hash >>> before === 0
    }
    while (at < end && !isCut) {
      hash = ((hash << 1) + (gear[bytes[at++] as number] as number)) | 0
      isCut = hash >>> after === 0
    }
    this.#rolling = hash
    this.#blockSize += at - start
    return { at, isCut: isCut || this.#blockSize === average * 4 }
  }

  #endBlock(): void {
    this.#blocks.push({ sha256: this.#block.digest('hex'), size: this.#blockSize })
    this.#block = this.#newHash()
    this.#blockSize = 0
    this.#rolling = 0
  }
}

/** A random number for each value of a byte, by the generator mulberry32. */
const gear = Int32Array.from({ length: 256 }, (_, byte) => {
  const state = Math.imul(byte + 1, 0x6d2b79f5)
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return mixed ^ (mixed >>> 14)
})
