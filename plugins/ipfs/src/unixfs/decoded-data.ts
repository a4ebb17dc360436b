import { UnixFS } from 'ipfs-unixfs'
import { mostLinks, requireFewFields } from './decoded-block.ts'

/** Fields of UnixFS beside the sizes of the parts. */
const otherFields = 7

/** Tags of protobuf fields with bytes (https://specs.ipfs.tech/unixfs/). */
const content = 0x12
const modified = 0x42

/** @throws Error if the data of a block is not UnixFS, or has too many sizes of parts */
export function decodedData(bytes: Uint8Array): UnixFS {
  requireFewFields(bytes, [content, modified], mostLinks + otherFields)
  return UnixFS.unmarshal(bytes)
}
