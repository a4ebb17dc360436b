import type { StatsFs } from 'node:fs'
import { NodekeepError } from '@nodekeep/plugin-sdk/thread-parts'

/**
 * Bytes of the disk that new blocks never use; on a small disk, an eighth of it. On a disk that is full to the last byte, nothing could
 * be removed.
 */
const mostReservedBytes = 32 * 1024 * 1024
const smallDiskShare = 8

/** Returns the bytes that new blocks may use on a disk; a negative number if others have taken more than the rest. */
export function usableBytes({ bavail, blocks, bsize }: StatsFs): number {
  // File systems that cannot tell their space answer zero.
  if (blocks === 0) return Number.POSITIVE_INFINITY
  return bavail * bsize - Math.min(mostReservedBytes, (blocks * bsize) / smallDiskShare)
}

/** Returns the error for blocks that the disk has no space for. */
export function fullDisk(): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk that holds the blocks is full. Remove what is not needed, then try again.',
  )
}
