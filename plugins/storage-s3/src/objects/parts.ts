import { FairSlots, freeChunk, NodekeepError } from '@nodekeep/plugin-sdk'

/** Bytes of a usual part. A server takes no part of less than 5 MiB but the last one. */
const usualPartBytes = 8 * 1024 * 1024

/** The most parts that an object may have. */
const mostParts = 10_000

/** The time after which the memory of a sent part is given up if no other part has taken it, in milliseconds. */
const keepFreeMs = 100

/** The most bytes of a part, which is held in memory. */
const mostPartBytes = 64 * 1024 * 1024

/**
 * Returns the bytes of each part of a content.
 *
 * @param size bytes, if known
 * @throws NodekeepError VALIDATION_ERROR if there are more bytes than an object may have
 */
export function partBytesFor(size = 0): number {
  const bytes = Math.max(usualPartBytes, Math.ceil(size / mostParts))
  if (bytes <= mostPartBytes) return bytes
  const message = `This storage takes files of up to ${(mostParts * mostPartBytes) / 2 ** 30} GiB.`
  throw new NodekeepError('VALIDATION_ERROR', message)
}

/** A piece of a content. */
interface Part {
  /** Counted from 1. */
  readonly number: number
  readonly bytes: Uint8Array
  /** Whether no bytes follow. */
  readonly isLast: boolean
  /** Lets another part take its memory. Its bytes change then. */
  release(): void
}

/** The memory of the parts of all uploads. An upload waits for it, so slow clients do not grow the node. */
export class PartMemory {
  readonly #usual = new FairSlots({ most: 32, mostPerKey: 16 })
  readonly #large = new FairSlots({ most: 4, mostPerKey: 2 })

  /**
   * Waits for the memory of one part.
   *
   * @param user whose turn it is among those that wait
   */
  acquire(user: string, partBytes: number): Promise<() => void> {
    const acquired = Promise.withResolvers<() => void>()
    const slots = partBytes > usualPartBytes ? this.#large : this.#usual
    void slots.run(user, () => {
      const held = Promise.withResolvers<void>()
      acquired.resolve(held.resolve)
      return held.promise
    })
    return acquired.promise
  }
}

/**
 * Cuts a content into parts. All but the last have `partBytes` bytes. An empty content is one empty part.
 *
 * @throws NodekeepError VALIDATION_ERROR if there are more parts than an object may have
 */
export async function* partsOf(
  content: AsyncIterable<Uint8Array>,
  partBytes: number,
  acquire: () => Promise<() => void>,
): AsyncGenerator<Part, void, undefined> {
  // The garbage collector would free them late, and take a second of the processor for each GiB.
  const free: Buffer<ArrayBuffer>[] = []
  // Only a fast upload needs it: one that waits for its client, or for its turn, holds no memory beside that of `acquire`.
  let giveUp: NodeJS.Timeout | undefined
  let release: (() => void) | null = null
  let number = 1
  let bytes = Buffer.alloc(0)
  let size = 0
  const part = (isLast: boolean): Part => {
    const [used, held] = [bytes, release]
    const filled = {
      number,
      bytes: used.subarray(0, size),
      isLast,
      release() {
        if (used.length === partBytes) free.push(used)
        giveUp ??= setTimeout(() => free.splice(0), keepFreeMs).unref()
        giveUp.refresh()
        held?.()
      },
    }
    release = null
    number += 1
    bytes = Buffer.alloc(0)
    size = 0
    return filled
  }
  // A chunk is copied when it arrives: thousands of chunks that wait for a whole part are much work for the garbage collector.
  const append = (piece: Uint8Array) => {
    const needed = size + piece.length
    if (needed > bytes.length) {
      const wanted = number === 1 ? Math.max(needed, 2 * bytes.length) : partBytes
      const larger = free.pop() ?? Buffer.allocUnsafeSlow(Math.min(wanted, partBytes))
      larger.set(bytes.subarray(0, size))
      bytes = larger
    }
    bytes.set(piece, size)
    size = needed
  }
  try {
    for await (const chunk of content) {
      for (let rest = chunk; rest.length > 0; ) {
        // A full part is not the last one: more bytes are here.
        if (size === partBytes) {
          if (number === mostParts) throw tooLarge(mostParts * partBytes)
          yield part(false)
        }
        // An empty content, such as that of a folder, waits for no memory.
        release ??= await acquire()
        const piece = rest.subarray(0, partBytes - size)
        append(piece)
        rest = rest.subarray(piece.length)
      }
      freeChunk(chunk)
    }
    yield part(true)
  } finally {
    release?.()
  }
}

function tooLarge(bytes: number): NodekeepError {
  const message = `Without a known size, this storage takes up to ${bytes / 2 ** 20} MiB. Send the file with its size.`
  return new NodekeepError('VALIDATION_ERROR', message)
}
