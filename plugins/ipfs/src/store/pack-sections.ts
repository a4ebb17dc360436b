import { closeSync, fstatSync, openSync } from 'node:fs'
import * as dagCbor from '@ipld/dag-cbor'
import { isBlockOf } from './block-hash.ts'
import { mostBlockBytes, packHeader } from './pack-format.ts'
import { readInto } from './pack-reader.ts'

/** A part of a pack: a block that is whole, or bytes that are damaged. */
export type PackPart =
  | {
      readonly cid: Uint8Array
      readonly bytes: Uint8Array
      /** Of the first byte of the block. */
      readonly position: number
      /** The position behind the section. */
      readonly end: number
    }
  | { readonly cid: null; readonly position: number; readonly end: number }

interface Section {
  readonly cid: Uint8Array
  readonly bytes: Uint8Array
  /** Bytes before those of the block. */
  readonly head: number
}

/** A CID of version 1 with SHA-256 has 36 bytes: its version, the codec, the hash function and the length of the hash, and the hash. */
const cidBytes = 36
const mostSectionBytes = 4 + cidBytes + mostBlockBytes

/** Yields the parts of a pack in their order. Blocks are verified, and valid until the next part. */
export function* partsOfPack(file: string): Generator<PackPart> {
  const descriptor = openSync(file, 'r')
  try {
    const pack = new PackWindow(descriptor)
    // Behind a damaged section, the search may find a section that a user wrote into a file. It must not pass as a block of the store itself.
    let untrustedTo = 0
    for (let at = packHeader.length; at < pack.size; ) {
      const section = sectionAt(pack, at) ?? null
      if (section !== null && (at >= untrustedTo || section.cid[1] !== dagCbor.code)) {
        const position = at + section.head
        const end = position + section.bytes.length
        if (isBlockOf(section.cid, section.bytes)) {
          yield { cid: section.cid, bytes: section.bytes, position, end }
          at = end
          continue
        }
        if (end === pack.size || sectionAt(pack, end) !== null) {
          yield { cid: null, position: at, end }
          at = end
          continue
        }
      }
      const next = nextSection(pack, at + 1)
      untrustedTo = at + mostSectionBytes
      yield { cid: null, position: at, end: next }
      at = next
    }
  } finally {
    closeSync(descriptor)
  }
}

/** Returns what looks like a section at a position. Its block may be damaged. */
function sectionAt(pack: PackWindow, at: number): Section | null {
  const bytes = pack.at(at)
  let length = 0
  let varint = 0
  for (; ; varint += 1) {
    const byte = bytes[varint]
    if (byte === undefined || varint === 4) return null
    length |= (byte & 0x7f) << (7 * varint)
    if (byte < 0x80) break
  }
  const start = varint + 1
  const head = start + cidBytes
  const end = start + length
  if (length < cidBytes || length > cidBytes + mostBlockBytes || end > bytes.length) return null
  const cid = bytes.subarray(start, head)
  if (cid[0] !== 1 || cid[2] !== 0x12 || cid[3] !== 0x20) return null
  return { cid: cid.slice(), bytes: bytes.subarray(head, end), head }
}

/** Returns the position of the next section with a whole block; the end of the pack if there is none. */
function nextSection(pack: PackWindow, from: number): number {
  for (let at = from; at < pack.size; at += 1) {
    const section = sectionAt(pack, at)
    if (section !== null && isBlockOf(section.cid, section.bytes)) return at
  }
  return pack.size
}

/** The bytes of a pack, of which some are in memory. */
class PackWindow {
  readonly size: number
  readonly #descriptor: number
  #start = 0
  #bytes = new Uint8Array(0)

  constructor(descriptor: number) {
    this.#descriptor = descriptor
    this.size = fstatSync(descriptor).size
  }

  /** Returns the bytes from a position on: at least those of the largest section, if the pack has them. */
  at(position: number): Uint8Array {
    const needed = Math.min(mostSectionBytes, this.size - position)
    const offset = position - this.#start
    if (offset < 0 || offset + needed > this.#bytes.length) this.#read(position)
    return this.#bytes.subarray(position - this.#start)
  }

  #read(position: number): void {
    const bytes = new Uint8Array(Math.min(4 * mostSectionBytes, this.size - position))
    this.#bytes = bytes.subarray(0, readInto(bytes, this.#descriptor, position))
    this.#start = position
  }
}
