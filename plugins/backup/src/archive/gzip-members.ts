import { availableParallelism } from 'node:os'
import { promisify } from 'node:util'
import { crc32, deflateRawSync, gzip } from 'node:zlib'

const blockBytes = 1024 * 1024
const maxStoredBytes = 0xffff
const sampleBytes = 4096
const samples = 8

/** A further block waits in the queue of the thread pool. One of the pool's four threads is left for the disk. */
const atOnce = Math.min(availableParallelism() + 1, 3)

const compress = promisify(gzip)

/** The pieces of a member, in their order. */
type Member = readonly Uint8Array[]

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
  const ahead: { readonly block: Buffer; readonly member: Promise<Member> }[] = []
  for await (const block of blocksOf(source, free)) {
    const member = memberOf(block, level)
    // The iteration may end before it is awaited.
    member.catch(() => {})
    ahead.push({ block, member })
    if (ahead.length < atOnce) continue
    const [first] = ahead.splice(0, 1)
    if (first === undefined) continue
    yield await first.member
    free.push(first.block)
  }
  for (const { member } of ahead) yield await member
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

async function memberOf(block: Buffer, level: number): Promise<Member> {
  if (level === 0 || !isCompressible(block)) return storedMember(block)
  const member = await compress(block, { level, chunkSize: blockBytes / 4 })
  return member.length < block.length ? [member] : storedMember(block)
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
