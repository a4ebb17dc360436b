import type { BigIntStats } from 'node:fs'
import type { StorageEntry } from '@nodekeep/plugin-sdk'

/**
 * Returns the revision of a file: its inode, its time of modification in nanoseconds and its size, in base 36. A write
 * knows all three before the rename that makes it visible, and the rename changes none of them.
 */
export function revisionOf({ ino, mtimeNs, size }: BigIntStats): string {
  return `${ino.toString(36)}-${mtimeNs.toString(36)}-${size.toString(36)}`
}

/** Returns null for anything but a file or a folder, such as a symbolic link. */
export function entryOf(name: string, stats: BigIntStats): StorageEntry | null {
  const directory = stats.isDirectory()
  if (!directory && !stats.isFile()) return null
  return {
    name,
    type: directory ? 'directory' : 'file',
    size: directory ? 0 : Number(stats.size),
    modified: new Date(Number(stats.mtimeMs)),
    created: new Date(Number(stats.birthtimeMs > 0n ? stats.birthtimeMs : stats.mtimeMs)),
    revision: revisionOf(stats),
  }
}
