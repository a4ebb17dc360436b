import { murmur364 } from '@multiformats/murmur3'
import type { CID } from 'multiformats/cid'
import type { GetBlock } from './file-blocks.ts'
import { digitsOf, unixFsNode } from './unixfs-node.ts'

/** Bits of the hash of a name. */
const hashBits = 64

/**
 * Finds an entry of a folder.
 *
 * @returns the CIDs of the blocks that lead from the folder to the entry, and of the entry as the last one; `null` if there is none, also
 * because the block is no folder
 * @throws NotUnixFs
 */
export async function findEntry(get: GetBlock, folder: CID, name: string): Promise<CID[] | null> {
  let node = unixFsNode(folder, await get(folder))
  if (node.kind === 'folder') return listOf(node.entries.find((entry) => entry.name === name)?.cid)
  const way: CID[] = []
  let hash: bigint | null = null
  for (let used = 0; node.kind === 'shard' && used + node.bits <= hashBits; ) {
    hash ??= await hashOf(name)
    const entry = node.entries.find((each) => each.name === name)
    if (entry !== undefined) return [...way, entry.cid]
    used += node.bits
    const place = (hash >> BigInt(hashBits - used)) & ((1n << BigInt(node.bits)) - 1n)
    const next = node.shards.get(place.toString(16).toUpperCase().padStart(digitsOf(node.bits), '0'))
    if (next === undefined) return null
    way.push(next)
    node = unixFsNode(next, await get(next))
  }
  return null
}

function listOf(cid: CID | undefined): CID[] | null {
  return cid === undefined ? null : [cid]
}

/** The hash by which a large folder is divided. The first bits are those of the first byte. */
async function hashOf(name: string): Promise<bigint> {
  return Buffer.from(await murmur364.encode(Buffer.from(name))).readBigUInt64BE()
}
