import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** A part of a file, in its order. */
export interface HashedPart {
  readonly part: Blob
  readonly isFirst: boolean
  readonly isLast: boolean
}

/** The answer to a part: the SHA-256 after the last one, hexadecimal. */
export interface PartAnswer {
  readonly sha256: string | null
  /** Whether the browser could read the part. */
  readonly isRead: boolean
}

let hash = sha256.create()

/** Hashes a file in parts, beside the page. WebCrypto takes only a whole content. */
addEventListener('message', async ({ data }: MessageEvent<HashedPart>) => {
  let answer: PartAnswer = { sha256: null, isRead: false }
  try {
    const bytes = new Uint8Array(await data.part.arrayBuffer())
    if (data.isFirst) hash = sha256.create()
    hash.update(bytes)
    answer = { sha256: data.isLast ? bytesToHex(hash.digest()) : null, isRead: true }
  } catch {
    // The file has changed or is gone.
  }
  postMessage(answer)
})
