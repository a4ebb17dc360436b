import type { CID } from 'multiformats/cid'
import type { Store } from './store.ts'

/**
 * Milliseconds after which a block is held anew. As long as a session is open, the store removes nothing that was let go since its
 * begin: one client that reads slowly must not keep everything that others remove.
 */
const holdMs = 5 * 60_000

interface HoldOptions {
  /** Asked before the block is held anew. If it is not wanted any more, it is let go. */
  readonly isWanted?: () => boolean
  readonly holdMs?: number | undefined
}

/** A block that stays, with all below it, until the end. */
export interface HeldBlock {
  end(): void
}

/**
 * Holds a block that is there for a reading, however long that takes.
 *
 * @throws NodekeepError NOT_FOUND
 */
export async function holdBlock(store: Store, cid: CID, options: HoldOptions = {}): Promise<HeldBlock> {
  let isEnded = false
  let session = store.session()
  const renew = async () => {
    if (options.isWanted?.() === false) return end()
    const next = store.session()
    try {
      await next.hold(cid)
    } catch {
      // A store that fails or closes removes nothing.
      return next.end()
    }
    session.end()
    session = next
    if (isEnded) session.end()
  }
  const timer = setInterval(renew, options.holdMs ?? holdMs).unref()
  const end = () => {
    isEnded = true
    clearInterval(timer)
    session.end()
  }
  try {
    await session.hold(cid)
  } catch (error) {
    end()
    throw error
  }
  return { end }
}
