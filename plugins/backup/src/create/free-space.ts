import { statfs } from 'node:fs/promises'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { isDiskFull } from '@nodekeep/plugin-sdk/data-folder'

/**
 * Bytes of a disk that backups never use; on a small disk, a quarter of it. Files of users may use up all but the last
 * 32 MiB, which keep deletions possible, so a backup leaves them room.
 */
const spared = 64 * 1024 * 1024

/** Returns the bytes that backups may still use on the disk of a folder; a negative number if files have taken more than the rest. */
export async function usableBytes(folder: string): Promise<number> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return bavail * bsize - Math.min(spared, (blocks * bsize) / 4)
}

/**
 * @param purpose what needs the space, for the message
 * @throws NodekeepError INSUFFICIENT_STORAGE if these bytes do not fit on the disk of a folder
 */
export async function requireFreeSpace(folder: string, bytes: number, purpose = 'a backup'): Promise<void> {
  const free = await usableBytes(folder)
  if (free >= bytes) return
  throw new NodekeepError(
    'INSUFFICIENT_STORAGE',
    `The disk has too little space for ${purpose}: about ${mebibytes(bytes)} MiB are needed, and ${mebibytes(Math.max(0, free))} MiB are free. ` +
      'Delete old backups, or keep the data on a larger disk.',
  )
}

/** Returns the error for people in place of that of a full disk; every other error as it is. */
export function explainFullDisk(error: unknown, purpose: string): unknown {
  if (!isDiskFull(error)) return error
  const message = `The disk has too little space for ${purpose}. Delete old backups, or keep the data on a larger disk.`
  return new NodekeepError('INSUFFICIENT_STORAGE', message, { cause: error })
}

/** Returns bytes in mebibytes, rounded up, for messages. */
export function mebibytes(bytes: number): number {
  return Math.ceil(bytes / 1024 ** 2)
}
