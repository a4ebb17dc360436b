import * as dagCbor from '@ipld/dag-cbor'
import * as dagPb from '@ipld/dag-pb'
import { UnixFS } from 'ipfs-unixfs'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { sha256 } from 'multiformats/hashes/sha2'

/** A block of a CAR. */
export interface Block {
  readonly cid: CID
  readonly bytes: Uint8Array
}

/** A number as LEB128. */
export function varint(number: number): Uint8Array {
  const bytes: number[] = []
  let rest = number
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Uint8Array.from([...bytes, rest])
}

/** A CAR of version 1, whatever its blocks are. */
export function carOf(roots: readonly CID[], blocks: Iterable<Block>): Buffer<ArrayBuffer> {
  const header = dagCbor.encode({ roots, version: 1 })
  const sections = Array.from(blocks, ({ cid, bytes }) =>
    Buffer.concat([varint(cid.bytes.length + bytes.length), cid.bytes, bytes]),
  )
  return Buffer.concat([varint(header.length), header, ...sections])
}

/** A CAR of version 2 around one of version 1, with bytes before it and an index behind it. */
export function version2(
  car: Uint8Array,
  { dataOffset = 64, dataSize = car.length } = {},
): Buffer<ArrayBuffer> {
  const header = Buffer.alloc(40)
  header.writeBigUInt64LE(BigInt(dataOffset), 16)
  header.writeBigUInt64LE(BigInt(dataSize), 24)
  header.writeBigUInt64LE(BigInt(64 + car.length), 32)
  const pragma = Buffer.from('0aa16776657273696f6e02', 'hex')
  return Buffer.concat([pragma, header, Buffer.alloc(13), car, Buffer.from('an index that nobody reads')])
}

export async function block(code: number, bytes: Uint8Array): Promise<Block> {
  return { cid: CID.createV1(code, await sha256.digest(bytes)), bytes }
}

export function rawBlock(content: string | Uint8Array): Promise<Block> {
  return block(raw.code, typeof content === 'string' ? Buffer.from(content) : content)
}

type Link = readonly [name: string, cid: CID]

/** A block of UnixFS with any links. */
export function node(data: ConstructorParameters<typeof UnixFS>[0], links: readonly Link[]): Promise<Block> {
  const Data = new UnixFS(data).marshal()
  return pbBlock(Data, links)
}

/** Encodes as DAG-PB does it, also links whose names are not sorted. */
async function pbBlock(Data: Uint8Array, links: readonly Link[]): Promise<Block> {
  const Links = links.map(([Name, Hash]) => ({ Name, Hash, Tsize: 0 }))
  return block(dagPb.code, dagPb.encode({ Data, Links }))
}

export function folder(links: readonly Link[]): Promise<Block> {
  return node({ type: 'directory' }, links)
}

export function file(parts: readonly (readonly [size: number, cid: CID])[]): Promise<Block> {
  return node(
    { type: 'file', blockSizes: parts.map(([size]) => BigInt(size)) },
    parts.map(([, cid]) => ['', cid]),
  )
}
