import type { BigIntStats } from 'node:fs'
import { NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import type { ByteRange } from './entry.ts'

/**
 * Bytes of one chunk, for up to 16 readers and for more. A reader holds two chunks. Large chunks give the rate of a bare
 * server (0.83 of it with 512 KiB); small ones let 64 readers stay below 100 MiB together.
 */
const largeChunkBytes = 1024 * 1024
const smallChunkBytes = 256 * 1024
const fewReaders = 16

let readers = 0

/** An open file. */
export interface OpenFile {
  readonly disk: Disk
  readonly fd: number
  readonly stats: BigIntStats
  readonly entry: StorageEntry
}

/**
 * Reads a range of an open file, and closes the file at the end. Chunks to keep are read one ahead. Chunks in reused
 * memory are not: their reader asks for the next chunk while it hands on the one before, so two buffers are enough.
 *
 * @param reuse whether the memory of a chunk may be used again when the chunk after the next one is asked for
 */
export async function* chunksOf(
  file: OpenFile,
  range: ByteRange,
  reuse: boolean,
): AsyncGenerator<Uint8Array, void> {
  const { disk, fd } = file
  readers += 1
  const maxChunkBytes = readers > fewReaders ? smallChunkBytes : largeChunkBytes
  const chunkBytes = Math.min(maxChunkBytes, range.end - range.start)
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
      // The next `await` reports its failure.
      ahead?.catch(() => {})
      if (position === range.end) checkUnchanged(file)
      yield chunk
    }
  } finally {
    readers -= 1
    await ahead?.catch(() => {})
    await disk.close(fd)
  }
}

/** Reads all of an open file, in one piece. */
export async function readWhole(file: OpenFile): Promise<Buffer> {
  const bytes = await fill(file, Buffer.allocUnsafeSlow(file.entry.size), 0)
  checkUnchanged(file)
  return bytes
}

async function fill({ disk, fd }: OpenFile, buffer: Buffer, start: number): Promise<Buffer> {
  for (let filled = 0; filled < buffer.length; ) {
    const count = await disk.read(fd, buffer, filled, buffer.length - filled, start + filled)
    if (count === 0) throw changed()
    filled += count
  }
  return buffer
}

/** @throws NodekeepError CONFLICT if the times or the size of the file tell that its bytes changed */
function checkUnchanged({ disk, fd, stats }: OpenFile): void {
  const { mtimeNs, size } = disk.fstatSync(fd)
  if (mtimeNs !== stats.mtimeNs || size !== stats.size) throw changed()
}

/** Only a program that writes into a file in place makes this happen. */
function changed(): NodekeepError {
  return new NodekeepError('CONFLICT', 'Another program changed the file while it was read. Read it again.')
}
