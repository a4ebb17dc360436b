import { statfs } from 'node:fs/promises'
import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * Bytes of the disk that files never use; on a small disk, an eighth of it. On a disk that is full to the last byte, the node could not record
 * deletions.
 */
const mostReserved = 32 * 1024 * 1024
const smallDiskShare = 8

/** @throws NodekeepError INSUFFICIENT_STORAGE if the disk of a folder has no space for more bytes of a file */
export async function checkFreeSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(folder)
  // File systems that cannot tell their space answer zero.
  if (blocks === 0) return
  const reserved = Math.min(mostReserved, (blocks * bsize) / smallDiskShare)
  if (bavail * bsize - reserved >= bytes) return
  throw new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'The disk has no space for this file. Remove what is not needed, then try again.',
  )
}
