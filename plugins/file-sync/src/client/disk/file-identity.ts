import type { BigIntStats } from 'node:fs'
import type { LocalFileEntry } from '../ports.ts'

/** The entry of a file by what the system tells about it. */
export function fileEntry({ ino, size, mtimeNs, mtimeMs, ctimeNs }: BigIntStats): LocalFileEntry {
  return {
    type: 'file',
    size: Number(size),
    modified: Number(mtimeMs),
    // A write changes the time of the inode even if the program sets the time of modification back.
    identity: `${ino} ${size} ${mtimeNs} ${ctimeNs}`,
    moveIdentity: `${ino} ${size} ${mtimeNs}`,
  }
}
