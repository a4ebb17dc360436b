import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'

/** A part of a file that is still to come. */
interface Part {
  readonly cid: CID
  /** The position of its first byte in the file. */
  readonly start: number
}

/**
 * Yields bytes of a UnixFS file (https://specs.ipfs.tech/unixfs/), block by block. It reads a block when its reader asks for it, and holds no other one.
 * The exporter of `ipfs-unixfs-exporter` reads all blocks at once, however slow its reader is, and its errors on files of more than two levels end the process.
 *
 * @param get returns a block; its errors end the content
 * @param start the first byte
 * @param end the byte after the last one
 * @throws Error if a block is no part of a file
 */
export async function* fileContent(
  root: CID,
  get: (cid: CID) => Promise<Uint8Array>,
  { start, end }: { readonly start: number; readonly end: number },
): AsyncGenerator<Uint8Array, void, undefined> {
  // The next part is the last one.
  const parts: Part[] = [{ cid: root, start: 0 }]
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    const block = await get(part.cid)
    const { data, links } = part.cid.code === raw.code ? { data: block, links: [] } : decode(block)
    const bytes = data.subarray(Math.max(0, start - part.start), Math.max(0, end - part.start))
    if (bytes.length > 0) yield bytes
    let position = part.start + data.length
    const children = links.map(({ cid, size }) => {
      const child = { cid, start: position, end: position + size }
      position = child.end
      return child
    })
    parts.push(...children.filter((child) => child.start < end && child.end > start).reverse())
  }
}

/** Returns the bytes that a node of a file contains, and the nodes whose bytes follow them. */
function decode(block: Uint8Array) {
  const { Data, Links } = dagPb.decode(block)
  if (Data === undefined) throw new Error('A block is no part of a file.')
  const node = UnixFS.unmarshal(Data)
  if (node.isDirectory() || node.type === 'symlink' || node.blockSizes.length !== Links.length)
    throw new Error('A block is no part of a file.')
  const links = Links.map(({ Hash }, index) => ({ cid: Hash, size: Number(node.blockSizes[index]) }))
  return { data: node.data ?? new Uint8Array(0), links }
}
