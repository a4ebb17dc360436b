import * as dagPb from '@ipld/dag-pb'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { sha256 } from 'multiformats/hashes/sha2'

/** An address of published content. */
export interface ContentPath {
  readonly cid: CID
  /** The names of the entries that lead to the content. */
  readonly names: readonly string[]
  /** The path of a URL, without a slash at its end. */
  readonly text: string
}

/** Characters of the longest CID. Those of SHA-256 have at most 62. To decode base58 takes the square of the length. */
const longestCid = 128

/**
 * Reads the address from the path of a request. A CID has version 0, or version 1 in base32, base36 or base58, and names a block of
 * the kinds that files and folders consist of, by its SHA-256.
 *
 * @returns `null` if it is none
 */
export function contentPath(path: string): ContentPath | null {
  const [, , text = '', ...rest] = path.split('/')
  if (text.length > longestCid) return null
  try {
    const names = rest.filter((name) => name !== '').map(decodeURIComponent)
    const cid = CID.parse(text)
    if (cid.multihash.code !== sha256.code || ![raw.code, dagPb.code].includes(cid.code as never)) return null
    return { cid, names, text: ['/ipfs', text, ...names.map(encodeURIComponent)].join('/') }
  } catch {
    return null
  }
}

/** Returns the CIDs that name the same block of a file or folder: versions 0 and 1 differ in their form only. */
export function sameBlock(cid: CID): CID[] {
  if (cid.code !== dagPb.code) return [cid]
  return [cid, cid.version === 0 ? cid.toV1() : cid.toV0()]
}
