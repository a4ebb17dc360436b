import * as dagPb from '@ipld/dag-pb'

/**
 * Links of a block. Other implementations write at most 1,024 of a file, and some 6,000 of a folder: larger ones are shards. A block at
 * this bound takes some 30 ms to decode, in which nothing else runs; one with all that 2 MiB can have takes more than a second.
 */
export const mostLinks = 16_384

/** Tags of protobuf fields with bytes (https://ipld.io/specs/codecs/dag-pb/spec/). */
const data = 0x0a
const link = 0x12

/** @throws Error if a block is not DAG-PB, or has too many links */
export function decodedLinks(bytes: Uint8Array): dagPb.PBNode {
  requireFewFields(bytes, [data, link], mostLinks + 1)
  return dagPb.decode(bytes)
}

/**
 * Counts the fields of a protobuf message before a decoder makes objects of them.
 *
 * @throws Error if it has too many, or one that no program writes
 */
export function requireFewFields(bytes: Uint8Array, tagsOfBytes: readonly number[], most: number): void {
  let at = 0
  const varint = () => {
    let value = 0
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++] ?? 0
      value += (byte & 0x7f) * scale
      if (byte < 0x80) break
    }
    return value
  }
  for (let fields = 1; at < bytes.length; fields += 1) {
    if (fields > most) throw new Error(`it has more than the ${mostLinks} links that are allowed.`)
    const tag = varint()
    const value = varint()
    const hasBytes = tagsOfBytes.includes(tag)
    // Decoders go on within bytes where they expect a number, and cut a number that is too large.
    if (hasBytes ? value > bytes.length - at : (tag & 7) !== 0)
      throw new Error('it has a field that no program writes.')
    if (hasBytes) at += value
  }
}
