import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Brings the names in a folder to the disk: after it returns, a new or renamed entry survives a power cut. */
export function syncFolder(folder: string): void {
  // Windows cannot open folders. Its file systems keep the order of such changes themselves.
  if (process.platform === 'win32') return
  const descriptor = openSync(folder, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
