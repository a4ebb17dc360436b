import type { Block } from '../../protocol/content-blocks.ts'

const hashBytes = 32
const rowBytes = hashBytes + 4

/** Blocks as bytes: for each one its SHA-256, and its size as 32 bits, big-endian. */
export function packBlocks(blocks: readonly Block[]): Buffer {
  const packed = Buffer.alloc(blocks.length * rowBytes)
  for (const [index, { sha256, size }] of blocks.entries()) {
    packed.write(sha256, index * rowBytes, 'hex')
    packed.writeUInt32BE(size, index * rowBytes + hashBytes)
  }
  return packed
}

export function unpackBlocks(packed: Buffer): Block[] {
  return Array.from({ length: packed.length / rowBytes }, (_, index) => ({
    sha256: packed.toString('hex', index * rowBytes, index * rowBytes + hashBytes),
    size: packed.readUInt32BE(index * rowBytes + hashBytes),
  }))
}

/** Finds the size of a block without unpacking all others; null if there is no such block. */
export function sizeOfBlock(packed: Buffer, sha256: string): number | null {
  const hash = Buffer.from(sha256, 'hex')
  let at = packed.indexOf(hash)
  while (at !== -1 && at % rowBytes !== 0) at = packed.indexOf(hash, at + 1)
  return at === -1 ? null : packed.readUInt32BE(at + hashBytes)
}
