import type { BigIntStats } from 'node:fs'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ByteRange, OpenFile } from './reading.ts'

/** Bytes of one chunk while few read, and while many do: two chunks are what each reader costs. */
const [LARGE_CHUNK, SMALL_CHUNK] = [1024 * 1024, 256 * 1024]
const FEW_READERS = 16

let readers = 0

/**
 * Reads a part of an open file, one chunk ahead of who asks, and closes the file in the end.
 *
 * @param reuse whether the memory of a chunk may be used again when the next one is asked for
 */
export async function* chunksOf(
  file: OpenFile,
  range: ByteRange,
  reuse: boolean,
): AsyncGenerator<Uint8Array, void> {
  const { disk, fd, stats } = file
  readers += 1
  const chunkBytes = Math.min(readers > FEW_READERS ? SMALL_CHUNK : LARGE_CHUNK, range.end - range.start)
  const spare: Buffer[] = []
  let ahead: Promise<Buffer> | null = null
  const readAhead = (start: number): Promise<Buffer> | null => {
    if (start >= range.end) return null
    const length = Math.min(chunkBytes, range.end - start)
    const buffer = (reuse ? spare.pop() : undefined) ?? Buffer.allocUnsafeSlow(chunkBytes)
    const reading = fill(file, buffer.subarray(0, length), start)
    // Its failure counts when the chunk's turn comes.
    reading.catch(() => {})
    return reading
  }
  try {
    let position = range.start
    ahead = readAhead(position)
    while (ahead !== null) {
      const chunk: Buffer = await ahead
      position += chunk.length
      ahead = readAhead(position)
      if (ahead === null && !sameContent(stats, disk.fstatSync(fd))) throw changed()
      yield chunk
      if (reuse) spare.push(Buffer.from(chunk.buffer))
    }
  } finally {
    readers -= 1
    await ahead?.catch(() => {})
    await disk.close(fd)
  }
}

/** Whether a file has kept its bytes, as far as its times and size tell. */
export function sameContent(before: BigIntStats, after: BigIntStats): boolean {
  return before.mtimeNs === after.mtimeNs && before.size === after.size
}

/** Fills the buffer from one place of a file. */
export async function fill({ disk, fd }: OpenFile, buffer: Buffer, start: number): Promise<Buffer> {
  for (let filled = 0; filled < buffer.length; ) {
    const count = await disk.read(fd, buffer, filled, buffer.length - filled, start + filled)
    if (count === 0) throw changed()
    filled += count
  }
  return buffer
}

/** Only programs that write into files in place make this happen. */
export function changed(): NodekeepError {
  return new NodekeepError(
    'CONFLICT',
    'The file was changed by another program while it was read. Read it again.',
  )
}
