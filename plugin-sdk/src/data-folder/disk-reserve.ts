import { rmSync } from 'node:fs'
import { rm, stat, statfs, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDiskFull } from './disk-failures.ts'

/** The part of the reserve for a start: enough for its databases, and for recording deletions that make more space. In bytes. */
const startBytes = 2 * 1024 * 1024
/** The part for a running node: enough for recording deletions. In bytes. */
const runningBytes = 2 * 1024 * 1024
const reserveBytes = startBytes + runningBytes
const pieceBytes = 64 * 1024
/** The reserve is made if this is still free afterwards: another program may be filling the disk right now. */
const plentyBytes = 4 * reserveBytes
/** With less than this, a disk counts as full. */
const fullBytes = 2 * 1024 * 1024

/**
 * Gives back the space of `<folder>/reserve` if the disk is full. Otherwise a node that was killed on a full disk could not
 * start again, and people delete files through a running node.
 *
 * It fails only where the folder cannot be used, which the next step of the start says better.
 */
export async function releaseReserve(folder: string): Promise<void> {
  if (await isFull(folder)) await rm(fileIn(folder), { force: true }).catch(() => {})
}

/**
 * Gives back the part of the reserve for a running node, if the disk is full and this part is still there. A deletion is
 * recorded before it happens, so without this space nothing could be deleted. The next start keeps its own part.
 */
export async function releaseForDeletions(folder: string): Promise<void> {
  const file = fileIn(folder)
  const size = (await stat(file).catch(() => null))?.size ?? 0
  if (size > startBytes && (await isFull(folder))) await truncate(file, startBytes).catch(() => {})
}

/**
 * Does work that writes a little. If the disk is full, the space of the whole reserve is given back, and the work is done again.
 *
 * @throws the error of the work
 */
export function withReserve(folder: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (!isDiskFull(error)) throw error
    rmSync(fileIn(folder), { force: true })
    work()
  }
}

/**
 * Makes the reserve, unless it is there or the disk is almost full. A node runs without it as well.
 *
 * @param bytes its size, a multiple of 64 KiB. Default: that of a node
 */
export async function makeReserve(folder: string, bytes = reserveBytes): Promise<void> {
  const file = fileIn(folder)
  try {
    if ((await stat(file).catch(() => null))?.size === bytes) return
    const space = await diskSpace(folder)
    if (space === null || space.free < plentyBytes) return
    await writeFile(file, reservePieces(bytes), { mode: 0o600 })
  } catch {
    await rm(file, { force: true }).catch(() => {})
  }
}

/**
 * Random bytes, because some file systems store zeros without taking space. All pieces are in the same memory, because a buffer for
 * each would stay as garbage in an idle node. A piece is written before the next one is asked for. They need not be secret, and `node:crypto`
 * would add 4 MB to a supervisor. The words are those of xorshift (Marsaglia, "Xorshift RNGs", 2003), since a million calls of
 * `Math.random` would take a fiftieth of the time of a start.
 */
function* reservePieces(bytes: number): Generator<Int32Array> {
  const piece = new Int32Array(pieceBytes / Int32Array.BYTES_PER_ELEMENT)
  // A word of 0 would be followed by zeros.
  let word = (Math.random() * 2 ** 32) | 1
  for (let left = bytes; left > 0; left -= pieceBytes) {
    for (let at = 0; at < piece.length; at += 1) {
      word ^= word << 13
      word ^= word >>> 17
      word ^= word << 5
      piece[at] = word
    }
    yield piece
  }
}

async function isFull(folder: string): Promise<boolean> {
  const space = await diskSpace(folder).catch(() => null)
  return space !== null && space.free < fullBytes
}

/**
 * The room of the disk with a folder, in bytes; null for a file system that cannot tell it.
 *
 * @throws the error of the system
 */
export async function diskSpace(
  folder: string,
): Promise<{ readonly free: number; readonly total: number } | null> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return blocks === 0 ? null : { free: bavail * bsize, total: blocks * bsize }
}

function fileIn(folder: string): string {
  return join(folder, 'reserve')
}
