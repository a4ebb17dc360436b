import { availableParallelism } from 'node:os'
import { crc32, createGzip, deflateRawSync } from 'node:zlib'

const blockBytes = 1024 * 1024
const maxStoredBytes = 0xffff
const sampleBytes = 4096
const samples = 8

/** A further block waits in the queue of the thread pool. One of the pool's four threads is left for the disk. */
const atOnce = Math.min(availableParallelism() + 1, 3)

/** The pieces of a member, in their order. */
type Member = readonly Uint8Array[]

/** A block that is being compressed. */
interface Packing {
  readonly block: Buffer
  readonly compressed: Promise<Buffer<ArrayBuffer>[] | null>
}

/**
 * Compresses a stream into a gzip file of many members (RFC 1952, section 2.2), each of 1 MiB before compression, on the thread
 * pool of zlib. A block that does not compress is stored, without a copy of it.
 *
 * @param level of zlib; 0 stores all blocks
 * @yields members, each valid until the next one is asked for
 */
export async function* gzipMembers(
  source: AsyncIterable<Uint8Array>,
  level: number,
): AsyncGenerator<Member, void, undefined> {
  const free: Buffer[] = []
  const ahead: Packing[] = []
  for await (const block of blocksOf(source, free)) {
    const compressed = compress(block, level)
    // The iteration may end before it is awaited.
    compressed.catch(() => {})
    ahead.push({ block, compressed })
    if (ahead.length < atOnce) continue
    const first = ahead.shift() as Packing
    yield* memberOf(first)
    free.push(first.block)
  }
  for (const packing of ahead) yield* memberOf(packing)
}

async function* memberOf({ block, compressed }: Packing): AsyncGenerator<Member, void, undefined> {
  const pieces = await compressed
  yield pieces ?? storedMember(block)
  if (pieces !== null) release(pieces)
}

/** Returns a member whose content is stored (RFC 1951, section 3.2.4). Its length depends only on that of the content. */
export function storedMember(content: Uint8Array): Member {
  const pieces: Uint8Array[] = [Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])]
  for (let at = 0; at < content.length; at += maxStoredBytes) {
    const part = content.subarray(at, at + maxStoredBytes)
    const head = Buffer.alloc(5)
    head.writeUInt8(at + part.length === content.length ? 1 : 0, 0)
    head.writeUInt16LE(part.length, 1)
    head.writeUInt16LE(0xffff - part.length, 3)
    pieces.push(head, part)
  }
  const tail = Buffer.alloc(8)
  tail.writeUInt32LE(crc32(content), 0)
  tail.writeUInt32LE(content.length, 4)
  return [...pieces, tail]
}

/** Fills free blocks. The last one is shorter. */
async function* blocksOf(source: AsyncIterable<Uint8Array>, free: Buffer[]): AsyncGenerator<Buffer> {
  let block: Buffer | undefined
  let filled = 0
  for await (const chunk of source) {
    for (let rest = chunk; rest.length > 0; ) {
      block ??= free.pop() ?? Buffer.allocUnsafeSlow(blockBytes)
      const taken = rest.subarray(0, blockBytes - filled)
      block.set(taken, filled)
      filled += taken.length
      rest = rest.subarray(taken.length)
      if (filled === blockBytes) {
        yield block
        block = undefined
        filled = 0
      }
    }
  }
  if (block !== undefined) yield block.subarray(0, filled)
}

/** Returns null for a block that does not become smaller. */
async function compress(block: Buffer, level: number): Promise<Buffer<ArrayBuffer>[] | null> {
  if (level === 0 || !isCompressible(block)) return null
  const gzip = createGzip({ level, chunkSize: blockBytes / 4 })
  const pieces: Buffer<ArrayBuffer>[] = await Array.fromAsync(gzip.end(block))
  if (pieces.reduce((sum, { length }) => sum + length, 0) < block.length) return pieces
  release(pieces)
  return null
}

/** Frees memory at once. The garbage collector would wait until there are 64 MiB of it. */
function release(pieces: readonly Buffer<ArrayBuffer>[]): void {
  // Pieces may share their memory.
  for (const { buffer } of pieces) if (!buffer.detached) buffer.transfer(0)
}

/** Tries a small part of a block, as compressing the whole of it only to store it then takes most of the time. */
function isCompressible(block: Buffer): boolean {
  const step = Math.floor(block.length / samples)
  if (step < sampleBytes) return true
  const sample = Buffer.concat(
    Array.from({ length: samples }, (_, index) => block.subarray(index * step, index * step + sampleBytes)),
  )
  return deflateRawSync(sample, { level: 1 }).length < sample.length * 0.97
}
