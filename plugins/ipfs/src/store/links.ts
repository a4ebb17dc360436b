import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'

/**
 * Returns the CIDs to which a block links, each as often as it does. Blocks of other codecs than DAG-PB have none for the store: it
 * keeps them by roots.
 *
 * @throws Error if the block is not what its codec says
 */
export function linksOf(cid: Uint8Array, bytes: Uint8Array): Uint8Array[] {
  if (CID.decode(cid).code !== dagPb.code) return []
  return dagPb.decode(bytes).Links.map(({ Hash }) => Hash.bytes)
}
