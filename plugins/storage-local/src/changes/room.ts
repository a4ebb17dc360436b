import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { diskFull } from '../disk/disk-errors.ts'
import type { Folder } from '../folders/folder.ts'

/**
 * So much of the disk is left free, in bytes: a full disk would let nobody note a removal in a journal, and the node not
 * even start. Of a small disk it is a part only.
 */
const mostSpared = 32n * 1024n * 1024n
const sparedPart = 8n

/** So long an answer of the system about the room counts, in milliseconds. */
const recentMs = 100

/** With so much left, in bytes, nobody waits for the next answer. Others don't fill it meanwhile. */
const plenty = 1024 ** 3

/** What a disk stores takes whole blocks, in bytes. */
const block = 4096

/** The room on a disk for what is written, without what is left free. */
export interface Room {
  /**
   * Resolves when there is room for something of a size. Where there isn't, what is being removed is waited for.
   *
   * @param size bytes; undefined when it isn't known yet
   * @throws NodekeepError INSUFFICIENT_STORAGE
   */
  check(size: number | undefined, signals: readonly AbortSignal[]): Promise<void>
  /** The same for a part that is written now: others find the room without it. */
  fill<T>(size: number, signals: readonly AbortSignal[], write: () => Promise<T>): Promise<T>
}

/**
 * Asks the system at most once in a short time; between, what is written since is taken off its answer.
 *
 * @param folder on the disk
 * @param discarding resolves when what was discarded is gone; null when nothing is left to remove
 */
export function createRoom(disk: Disk, folder: Folder, discarding: () => Promise<void> | null): Room {
  /** Bytes that may still be written; negative where the disk has less free than it should. */
  let left = 0
  let asked = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | null = null
  /** Bytes of what is being written now. */
  let underWay = 0

  function ask(): Promise<void> {
    asking ??= measure().finally(() => {
      asking = null
    })
    return asking
  }

  async function measure(): Promise<void> {
    const { available, total } = await disk.space(folder.at('.'))
    const part = total / sparedPart
    // What is under way may be in this answer or not.
    left = Number(available - (part < mostSpared ? part : mostSpared)) - underWay
    // File systems that cannot tell say that there is nothing at all.
    if (total === 0n) left = Number.POSITIVE_INFINITY
    asked = performance.now()
  }

  function isRecent(): boolean {
    return performance.now() - asked < recentMs
  }

  async function findRoom(bytes: number, size: number | undefined, signals: readonly AbortSignal[]) {
    if (isRecent() && left >= bytes) return
    const answer = ask()
    // A failure comes again to whoever has to know.
    if (left - bytes >= plenty) return void answer.catch(() => {})
    await answer
    if (left >= bytes) return
    do {
      const removing = discarding()
      if (removing !== null) await orAborted(removing, signals)
      // An answer that was on its way may be older than the end of a removal.
      await asking
      await ask()
    } while (left < bytes && discarding() !== null)
    if (left < bytes) throw size === undefined ? diskFull() : noRoomFor(size)
  }

  return {
    check: (size, signals) => findRoom(blocks(size ?? 0) + block, size, signals),
    async fill(size, signals, write) {
      const bytes = blocks(size)
      // Others that waited too may have taken the room that was found.
      do await findRoom(bytes, undefined, signals)
      while (left < bytes)
      left -= bytes
      underWay += bytes
      try {
        return await write()
      } finally {
        underWay -= bytes
      }
    },
  }
}

function blocks(size: number): number {
  return Math.ceil(size / block) * block
}

/** A large folder takes long to remove; who doesn't want to wait any more need not. */
async function orAborted(waiting: Promise<void>, signals: readonly AbortSignal[]): Promise<void> {
  const signal = AbortSignal.any([...signals])
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.throwIfAborted()
  signal.addEventListener('abort', abort)
  try {
    await Promise.race([waiting, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

function noRoomFor(size: number): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `The disk has no room for ${size} bytes. Remove what is not needed.`,
  )
}
