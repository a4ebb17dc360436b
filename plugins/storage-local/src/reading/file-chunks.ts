import type { BigIntStats } from 'node:fs'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ByteRange, OpenFile } from './reading.ts'

/** Bytes of one chunk while few read, and while many do: two chunks are what each reader costs. */
const [LARGE_CHUNK, SMALL_CHUNK] = [1024 * 1024, 256 * 1024]
const fewReaders = 16

let readers = 0

/**
 * Reads a part of an open file, and closes it in the end. Chunks to keep are read one ahead of who asks. Those in memory
 * that is reused are not: whoever takes them asks for one while handing on the one before, and two buffers are enough.
 *
 * @param reuse whether the memory of a chunk may be used again when the one after next is asked for
 */
export async function* chunksOf(
  file: OpenFile,
  range: ByteRange,
  reuse: boolean,
): AsyncGenerator<Uint8Array, void> {
  const { disk, fd, stats } = file
  readers += 1
  const chunkBytes = Math.min(readers > fewReaders ? SMALL_CHUNK : LARGE_CHUNK, range.end - range.start)
  const buffers: Buffer[] = []
  let ahead: Promise<Buffer> | null = null
  const read = (start: number): Promise<Buffer> => {
    const length = Math.min(chunkBytes, range.end - start)
    const buffer = (buffers.length === 2 && buffers.shift()) || Buffer.allocUnsafeSlow(chunkBytes)
    if (reuse) buffers.push(buffer)
    return fill(file, buffer.subarray(0, length), start)
  }
  try {
    for (let position = range.start; position < range.end; ) {
      const chunk: Buffer = await (ahead ?? read(position))
      position += chunk.length
      ahead = reuse || position === range.end ? null : read(position)
      // Its failure counts when the chunk's turn comes.
      ahead?.catch(() => {})
      if (position === range.end && !sameContent(stats, disk.fstatSync(fd))) throw changed()
      yield chunk
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
