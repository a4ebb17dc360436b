import * as dagCbor from '@ipld/dag-cbor'
import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256 } from 'multiformats/hashes/sha2'
import { decodedLinks } from '../unixfs/decoded-block.ts'
import { partsOf } from './tree-record.ts'

/** Returns the bytes by which the store knows a block: those of its CID of version 1. */
export function keyOf(cid: CID): Uint8Array {
  return cid.toV1().bytes
}

/** Whether blocks with such a CID are stored: only those with SHA-256. */
export function isStoredCid({ multihash }: CID): boolean {
  return multihash.code === sha256.code && multihash.digest.length === 32
}

/**
 * Returns the blocks to which a block links, each as often as it does. A link that has its block in itself, by the hash "identity",
 * counts as none.
 *
 * @throws Error if the block is not what its codec says, or has too many links
 */
export function linksOf(cid: Uint8Array, bytes: Uint8Array): Uint8Array[] {
  const { code } = CID.decode(cid)
  if (code === dagCbor.code) return partsOf(bytes)
  if (code !== dagPb.code) return []
  const links = decodedLinks(bytes).Links.map(({ Hash }) => Hash)
  return links.filter(({ multihash }) => multihash.code !== identity.code).map(keyOf)
}
