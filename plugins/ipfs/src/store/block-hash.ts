import { hash } from 'node:crypto'
import { CID } from 'multiformats/cid'
import { sha256 } from 'multiformats/hashes/sha2'

/** Bytes from which on it pays to compute a hash in another thread. */
const largeBytes = 64 * 1024

/** Whether bytes have the hash that a CID names. Only SHA-256 is known: the node stores nothing else. */
export async function isBlockOf({ multihash }: CID, bytes: Uint8Array): Promise<boolean> {
  if (multihash.code !== sha256.code) return false
  const digest =
    bytes.length < largeBytes
      ? hash('sha256', bytes, 'buffer')
      : await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)
  return Buffer.compare(new Uint8Array(digest), multihash.digest) === 0
}

/** Like {@link isBlockOf}. It blocks the thread. */
export function isBlockOfSync(cid: Uint8Array, bytes: Uint8Array): boolean {
  const { multihash } = CID.decode(cid)
  return (
    multihash.code === sha256.code && Buffer.compare(hash('sha256', bytes, 'buffer'), multihash.digest) === 0
  )
}
