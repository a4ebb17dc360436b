import type { BigIntStats } from 'node:fs'
import type { StorageEntry } from '@nodekeep/plugin-sdk'

/** A time of modification that is this much before the birth of the file was set by somebody. In nanoseconds. */
const minSetBackNs = 1_000_000_000n

/**
 * Returns the revision of a file: its inode, its time of modification in nanoseconds and its size, in base 36. A write
 * knows all three before the rename that makes it visible, and the rename changes none of them. If somebody set the time back,
 * another file may have had the same inode and the same time. Such a revision also has the birth of the file.
 */
export function revisionOf({ ino, mtimeNs, birthtimeNs, size }: BigIntStats): string {
  const revision = `${ino.toString(36)}-${mtimeNs.toString(36)}-${size.toString(36)}`
  return birthtimeNs - mtimeNs > minSetBackNs ? `${revision}-${birthtimeNs.toString(36)}` : revision
}

/** Returns the time of modification. Node rounds times before 1970 up to a millisecond. */
export function modifiedOf({ mtimeMs, mtimeNs }: BigIntStats): Date {
  const isRoundedUp = mtimeNs < 0n && mtimeNs < mtimeMs * 1_000_000n
  return new Date(Number(isRoundedUp ? mtimeMs - 1n : mtimeMs))
}

/** Returns null for anything but a file or a folder, such as a symbolic link. */
export function entryOf(name: string, stats: BigIntStats): StorageEntry | null {
  const directory = stats.isDirectory()
  if (!directory && !stats.isFile()) return null
  return {
    name,
    type: directory ? 'directory' : 'file',
    size: directory ? 0 : Number(stats.size),
    modified: modifiedOf(stats),
    created: new Date(Number(stats.birthtimeMs > 0n ? stats.birthtimeMs : stats.mtimeMs)),
    revision: revisionOf(stats),
  }
}
