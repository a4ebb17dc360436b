import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { deflateRawSync, gzip } from 'node:zlib'

const blockBytes = 1024 * 1024
const sampleBytes = 4096
const samples = 8

/** A further block waits in the queue of the thread pool. One of the pool's four threads is left for the disk. */
const atOnce = Math.min(availableParallelism() + 1, 3)

const compress = promisify(gzip)

/**
 * Compresses a stream into a gzip file of many members (RFC 1952, section 2.2), each of 1 MiB before compression, on the thread
 * pool of zlib. A block that does not compress is stored.
 *
 * @param level of zlib; 0 stores all blocks
 */
export async function* gzipMembers(
  source: AsyncIterable<Uint8Array>,
  level: number,
): AsyncGenerator<Buffer, void, undefined> {
  const free: Buffer<ArrayBufferLike>[] = []
  const members: Promise<Buffer>[] = []
  for await (const block of blocksOf(source, free)) {
    const member = memberOf(block, level).finally(() => free.push(block))
    // The iteration may end before it is awaited.
    member.catch(() => {})
    members.push(member)
    if (members.length === atOnce) yield (await members.shift()) as Buffer
  }
  for (const member of members) yield await member
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

async function memberOf(block: Buffer, level: number): Promise<Buffer> {
  const options = { chunkSize: blockBytes + 1024 }
  if (level > 0 && isCompressible(block)) {
    const member = await compress(block, { ...options, level })
    if (member.length < block.length) return member
  }
  return compress(block, { ...options, level: 0 })
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
