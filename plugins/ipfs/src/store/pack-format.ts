/*
 * A pack is a file in the format CARv1 (https://ipld.io/specs/transport/car/carv1/) without roots: a header, then sections, one for each
 * block. Any program that knows the format reads it.
 */

/** The header: its length, and `{ roots: [], version: 1 }` as DAG-CBOR. */
export const packHeader: Uint8Array = Buffer.from('11a265726f6f7473806776657273696f6e01', 'hex')

/** The largest block. Other implementations do not take larger ones either. */
export const mostBlockBytes = 2 * 1024 * 1024

/** Returns what precedes the bytes of a block in its section: the length of the rest as a varint (LEB128), and the CID. */
export function sectionHead(cid: Uint8Array, blockBytes: number): Uint8Array {
  const head: number[] = []
  let rest = cid.length + blockBytes
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80)
  head.push(rest)
  return Buffer.concat([Uint8Array.from(head), cid])
}

/** The bytes of a whole section. */
export function sectionBytes(cid: Uint8Array, blockBytes: number): number {
  return sectionHead(cid, blockBytes).length + blockBytes
}

/** The name of the file of a pack. */
export function packName(number: number): string {
  return `${String(number).padStart(8, '0')}.car`
}

/** Returns the number of the pack that a file is; null if it is none. */
export function packNumber(name: string): number | null {
  const number = Number(/^(\d{8,15})\.car$/.exec(name)?.[1])
  return number > 0 && packName(number) === name ? number : null
}
