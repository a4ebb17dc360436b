import { lstatSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolderSync } from '@nodekeep/plugin-sdk/durable-files'

/** Removes a file so that it stays away, also after a power cut. */
export function removeDurably(file: string): void {
  rmSync(file)
  syncFolderSync(dirname(file))
}

/** Unlike `existsSync`, it sees a symbolic link that leads nowhere. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
