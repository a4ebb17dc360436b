import { CID } from 'multiformats/cid'
import { NotUnixFs, unixFsNode } from './unixfs-node.ts'

/** Returns the bytes of a block. They have the hash that the CID names. */
export type GetBlock = (cid: CID) => Promise<Uint8Array>

/** First and last byte, both inclusive. */
export interface ContentRange {
  readonly start: number
  readonly end: number
}

/** A block of a file. */
interface FileBlock {
  readonly cid: CID
  readonly bytes: Uint8Array
  /** The part of the range that the block itself has. */
  readonly content: Uint8Array
}

/** Levels of blocks above each other. Files of other implementations have at most five. */
export const mostLevels = 64

/** Parts of a file that wait for their turn, on all levels together. Other implementations have at most 1,024 links in a block. */
const mostWaiting = 16_384

/**
 * Yields the blocks of a file that a range needs, in the order of their content: each block before those to which it links. It reads a
 * block when it is asked for it, so that memory stays flat. The exporter of UnixFS reads as fast as it can.
 *
 * @param range the whole file by default; it is within the file
 * @throws NotUnixFs if a block is no file, or does not have the bytes that the block above claims; errors of `get`
 */
export async function* fileBlocks(
  get: GetBlock,
  root: CID,
  range?: ContentRange,
): AsyncGenerator<FileBlock, void, undefined> {
  const { start, end } = range ?? { start: 0, end: Number.POSITIVE_INFINITY }
  const waiting: { cid: CID; position: number; size: number | null; level: number }[] = [
    { cid: root, position: 0, size: null, level: 1 },
  ]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { cid, position, size, level } = next
    const bytes = await get(cid)
    const node = unixFsNode(cid, bytes)
    if (node.kind !== 'file' || level > mostLevels || (size !== null && size !== node.size))
      throw new NotUnixFs(`The block ${cid} is not the part of a file that the block above it claims.`)
    yield { cid, bytes, content: node.data.subarray(within(start - position), within(end + 1 - position)) }
    if (waiting.length + node.parts.length > mostWaiting)
      throw new NotUnixFs(`The block ${cid} has more links than the parts of a file.`)
    let at = position + node.size
    for (const part of node.parts.toReversed()) {
      at -= part.size
      const isNeeded = range === undefined || (at <= end && at + part.size > start)
      if (isNeeded) waiting.push({ cid: ownCid(part.cid), size: part.size, position: at, level: level + 1 })
    }
  }
}

/**
 * Yields the content of a file, or of a range of it, a block at a time.
 *
 * @throws as {@link fileBlocks}
 */
export async function* fileContent(
  get: GetBlock,
  root: CID,
  range?: ContentRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const { content } of fileBlocks(get, root, range)) if (content.length > 0) yield content
}

/** A CID that was read from a block keeps the whole block in memory. */
function ownCid(cid: CID): CID {
  return CID.decode(cid.bytes.slice())
}

/** `subarray` counts negative numbers from the end. */
function within(offset: number): number {
  return Math.max(0, offset)
}
