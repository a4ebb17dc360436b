import * as dagPb from '@ipld/dag-pb'
import { messageOf } from '@nodekeep/plugin-sdk/thread-parts'
import type { UnixFS } from 'ipfs-unixfs'
import type { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import { decodedLinks } from './decoded-block.ts'
import { decodedData } from './decoded-data.ts'

/** An entry of a folder. */
export interface FolderEntry {
  readonly name: string
  readonly cid: CID
  /** Bytes of all blocks of the entry, as the link claims. */
  readonly size: number
}

/** A part of a file, which is a file itself. */
interface FilePart {
  readonly cid: CID
  /** Bytes of its content, as the node above claims. */
  readonly size: number
}

/** A block as UnixFS sees it (https://specs.ipfs.tech/unixfs/). */
export type UnixFsNode =
  /** `data` comes first, then the parts. `size` are the bytes of all. */
  | {
      readonly kind: 'file'
      readonly size: number
      readonly data: Uint8Array
      readonly parts: readonly FilePart[]
    }
  | { readonly kind: 'folder'; readonly entries: readonly FolderEntry[] }
  /** A node of a large folder, which is a hash array mapped trie. */
  | {
      readonly kind: 'shard'
      /** Bits of the hash of a name that choose a child. */
      readonly bits: number
      readonly entries: readonly FolderEntry[]
      /** The nodes below, by what the bits say, as a hexadecimal number. */
      readonly shards: ReadonlyMap<string, CID>
    }
  | { readonly kind: 'symlink' }

/** A block is no file and no folder, or contradicts itself or the block above it. */
export class NotUnixFs extends Error {}

const none = new Uint8Array(0)

/** The largest width of a node of a large folder, as other implementations have it. */
const mostFanout = 1024n

/** @throws NotUnixFs */
export function unixFsNode(cid: CID, bytes: Uint8Array): UnixFsNode {
  if (cid.code === raw.code) return { kind: 'file', size: bytes.length, data: bytes, parts: [] }
  if (cid.code !== dagPb.code)
    throw new NotUnixFs(`The block ${cid} has the codec 0x${cid.code.toString(16)}.`)
  const { node, data } = decoded(cid, bytes)
  const entries = () =>
    node.Links.map(({ Name = '', Hash, Tsize = 0 }) => ({ name: Name, cid: Hash, size: Tsize }))
  if (data.type === 'symlink') return { kind: 'symlink' }
  if (data.type === 'directory') return { kind: 'folder', entries: entries() }
  if (data.type === 'hamt-sharded-directory') return shard(cid, data, entries())
  if (data.type !== 'file' && data.type !== 'raw')
    throw new NotUnixFs(`The block ${cid} is no file and no folder.`)
  const sizes = data.blockSizes.map(Number)
  const own = data.data ?? none
  const size = sizes.reduce((sum, each) => sum + each, own.length)
  if (sizes.length !== node.Links.length || !Number.isSafeInteger(size))
    throw new NotUnixFs(`The sizes in the block ${cid} do not fit its links.`)
  const parts = node.Links.map(({ Hash }, index) => ({ cid: Hash, size: sizes[index] ?? 0 }))
  return { kind: 'file', size, data: own, parts }
}

function decoded(cid: CID, bytes: Uint8Array): { node: dagPb.PBNode; data: UnixFS } {
  try {
    const node = decodedLinks(bytes)
    if (node.Data === undefined) throw new Error('it has no data.')
    return { node, data: decodedData(node.Data) }
  } catch (cause) {
    throw new NotUnixFs(`The block ${cid} is no file and no folder: ${messageOf(cause)}`, { cause })
  }
}

function shard(cid: CID, { fanout = 0n }: UnixFS, links: readonly FolderEntry[]): UnixFsNode {
  const bits = fanout.toString(2).length - 1
  if (bits < 1 || fanout !== 1n << BigInt(bits) || fanout > mostFanout)
    throw new NotUnixFs(`The block ${cid} is a part of a folder with a width of ${fanout}.`)
  const digits = digitsOf(bits)
  const entries: FolderEntry[] = []
  const shards = new Map<string, CID>()
  for (const link of links) {
    const prefix = link.name.slice(0, digits)
    if (!/^[0-9A-F]+$/.test(prefix) || prefix.length < digits)
      throw new NotUnixFs(`The block ${cid} is a part of a folder, and has a link without a place.`)
    if (link.name.length === digits) shards.set(prefix, link.cid)
    else entries.push({ ...link, name: link.name.slice(digits) })
  }
  return { kind: 'shard', bits, entries, shards }
}

/** The digits of a place in a node of a large folder. */
export function digitsOf(bits: number): number {
  return (2 ** bits - 1).toString(16).length
}
