import type { BigIntStats } from 'node:fs'
import { NodekeepError, type StorageEntry } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { storageError } from '../disk/disk-errors.ts'

/**
 * Bytes of one chunk, by the number of readers. A reader holds two chunks. Large chunks give the rate of a bare server (0.83 of it with
 * 512 KiB); small ones let 200 readers that wait for their clients stay below 40 MiB together. TLS holds each chunk once more.
 */
const chunkSizes = [
  { maxReaders: 2, bytes: 1024 * 1024 },
  { maxReaders: 16, bytes: 256 * 1024 },
  { maxReaders: Number.POSITIVE_INFINITY, bytes: 64 * 1024 },
] as const
const [{ bytes: largeChunkBytes }] = chunkSizes

let readers = 0

/** An open file. */
export interface OpenFile {
  readonly disk: Disk
  readonly fd: number
  readonly stats: BigIntStats
  readonly entry: StorageEntry
  /** Called when another program has changed the file. Without it, the reading fails. */
  readonly onChanged?: () => void
}

/**
 * Reads an open file from `start` up to, but not including, `end`, and closes the file at the end. The memory of a chunk is
 * used again for the chunk after the next one: the reader asks for a chunk while it passes on the one before, so two buffers
 * are enough.
 *
 * @param free buffers that earlier readings have left. They are used, and given back at the end: the reader is then done with all
 * chunks
 */
export async function* chunksOf(
  file: OpenFile,
  start: number,
  end: number,
  free?: Buffer[],
): AsyncGenerator<Uint8Array, void> {
  readers += 1
  const { bytes: maxChunkBytes } = chunkSizes.find(({ maxReaders }) => readers <= maxReaders) ?? chunkSizes[2]
  const chunkBytes = Math.min(maxChunkBytes, end - start)
  const buffers: Buffer[] = []
  try {
    for (let position = start; position < end; ) {
      const buffer = (buffers.length === 2 && buffers.shift()) || newBuffer()
      buffers.push(buffer)
      const chunk = await fill(file, buffer.subarray(0, Math.min(chunkBytes, end - position)), position)
      position += chunk.length
      if (position === end) checkUnchanged(file)
      yield chunk
    }
  } catch (error) {
    throw storageError(error)
  } finally {
    readers -= 1
    free?.push(...buffers)
    await file.disk.close(file.fd)
  }

  function newBuffer(): Buffer {
    return free?.pop() ?? Buffer.allocUnsafeSlow(free === undefined ? chunkBytes : largeChunkBytes)
  }
}

/** Reads all of an open file, in one piece. */
export async function readWhole(file: OpenFile): Promise<Buffer> {
  const bytes = await fill(file, Buffer.allocUnsafeSlow(file.entry.size), 0)
  checkUnchanged(file)
  return bytes
}

async function fill(file: OpenFile, buffer: Buffer, start: number): Promise<Buffer> {
  const { disk, fd } = file
  for (let filled = 0; filled < buffer.length; ) {
    const count = await disk.read(fd, buffer, filled, buffer.length - filled, start + filled)
    if (count === 0) {
      noteChange(file)
      return buffer.fill(0, filled)
    }
    filled += count
  }
  return buffer
}

/** Notes a change if the times or the size of the file tell that its bytes changed. */
function checkUnchanged(file: OpenFile): void {
  const { disk, fd, stats } = file
  const { mtimeNs, size } = disk.fstatSync(fd)
  if (mtimeNs !== stats.mtimeNs || size !== stats.size) noteChange(file)
}

/**
 * Only a program that writes into a file in place makes this happen.
 *
 * @throws NodekeepError CONFLICT if the reading cannot go on
 */
function noteChange({ onChanged }: OpenFile): void {
  if (onChanged === undefined)
    throw new NodekeepError('CONFLICT', 'Another program changed the file while it was read. Read it again.')
  onChanged()
}
