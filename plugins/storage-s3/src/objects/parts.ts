import { FairSlots } from '@nodekeep/plugin-sdk'

/** Bytes of a part. A server takes no part of less than 5 MiB but the last one. */
export const partBytes = 8 * 1024 * 1024

/** A piece of a content. */
export interface Part {
  /** Counted from 1. */
  readonly number: number
  readonly bytes: Uint8Array
  /** Whether no bytes follow. */
  readonly isLast: boolean
  /** Lets another part take its memory. */
  release(): void
}

/** The memory of the parts of all uploads. An upload waits for it, so slow clients do not grow the node. */
export class PartMemory {
  readonly #slots = new FairSlots({ most: 32, mostPerKey: 16 })

  /**
   * Waits for the memory of one part.
   *
   * @param user whose turn it is among those that wait
   */
  acquire(user: string): Promise<() => void> {
    const acquired = Promise.withResolvers<() => void>()
    void this.#slots.run(user, () => {
      const held = Promise.withResolvers<void>()
      acquired.resolve(held.resolve)
      return held.promise
    })
    return acquired.promise
  }
}

/** Cuts a content into parts. All but the last have {@link partBytes} bytes. An empty content is one empty part. */
export async function* partsOf(
  content: AsyncIterable<Uint8Array>,
  acquire: () => Promise<() => void>,
): AsyncGenerator<Part, void, undefined> {
  let release: (() => void) | null = null
  let number = 1
  let pieces: Uint8Array[] = []
  let size = 0
  const part = (isLast: boolean): Part => {
    const filled = { number, bytes: Buffer.concat(pieces, size), isLast, release: release ?? (() => {}) }
    release = null
    number += 1
    pieces = []
    size = 0
    return filled
  }
  try {
    release = await acquire()
    for await (const chunk of content) {
      for (let rest = chunk; rest.length > 0; ) {
        // A full part is not the last one: more bytes are here.
        if (size === partBytes) {
          yield part(false)
          release = await acquire()
        }
        const piece = rest.subarray(0, partBytes - size)
        pieces.push(piece)
        size += piece.length
        rest = rest.subarray(piece.length)
      }
    }
    yield part(true)
  } finally {
    release?.()
  }
}
