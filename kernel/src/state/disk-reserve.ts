import { randomBytes } from 'node:crypto'
import { rm, stat, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Enough for the databases of a start, and for recording deletions that make more space. In bytes. */
const reserveBytes = 2 * 1024 * 1024
/** The reserve is made if this is still free afterwards: another program may be filling the disk right now. */
const plentyBytes = 8 * reserveBytes

/**
 * Gives back the space of `<folder>/reserve` if the disk is full. Otherwise a node that was killed on a full disk could not
 * start again, and people delete files through a running node.
 *
 * It fails only where the folder cannot be used, which the next step of the start says better.
 */
export async function releaseReserve(folder: string): Promise<void> {
  const available = await availableBytes(folder).catch(() => null)
  if (available !== null && available < reserveBytes)
    await rm(fileIn(folder), { force: true }).catch(() => {})
}

/** Makes the reserve, unless it is there or the disk is almost full. A node runs without it as well. */
export async function keepReserve(folder: string): Promise<void> {
  const file = fileIn(folder)
  try {
    if ((await stat(file).catch(() => null))?.size === reserveBytes) return
    const available = await availableBytes(folder)
    if (available === null || available < plentyBytes) return
    // Random bytes, because some file systems store zeros without taking space.
    await writeFile(file, randomBytes(reserveBytes), { mode: 0o600 })
  } catch {
    await rm(file, { force: true }).catch(() => {})
  }
}

/** Null for a file system that cannot tell its space. */
async function availableBytes(folder: string): Promise<number | null> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return blocks === 0 ? null : bavail * bsize
}

function fileIn(folder: string): string {
  return join(folder, 'reserve')
}
