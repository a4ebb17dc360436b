import { type BigIntStats, constants } from 'node:fs'
import type { StorageDriverWriteOptions } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { uniquePresent, uniqueTime } from '../disk/file-times.ts'
import { modifiedOf } from '../reading/entry.ts'
import type { Store } from './store.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/** Bytes, and chunks, that are written with one call. A writer holds two such batches, however large the file is. */
const batchBytes = 256 * 1024
const batchChunks = 1024

/** Freeing smaller chunks by hand takes longer than the garbage collection does, in bytes. */
const minFreedBytes = 16 * 1024

/** Up to this size, the sync of a file runs while `beforeCommit` does. In bytes. */
const maxSyncedAside = 64 * 1024

/** A complete file in the staging folder. */
export interface StagedFile {
  readonly name: string
  readonly stats: BigIntStats
  /** Resolves when the file is on the disk. Wait for it in any case: it then closes the file. */
  readonly durable: Promise<void>
}

/**
 * Receives a stream into a new file of the staging folder. If that fails, nothing stays. A large file is on the disk
 * when this resolves; a small one may still be on the way.
 */
export async function stage(
  store: Store,
  content: AsyncIterable<Uint8Array>,
  { size, modified, signal }: StorageDriverWriteOptions,
): Promise<StagedFile> {
  const { disk, staging, freeSpace } = store
  await freeSpace.check(size, signal)
  const name = staging.freshName('write')
  const fd = await disk.open(staging.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
  try {
    await receive(store, fd, content, signal)
    const stats = setTime(disk, fd, modified)
    const isSynced = stats.size > maxSyncedAside
    if (isSynced) await disk.fdatasync(fd)
    return { name, stats, durable: syncAndClose(disk, fd, isSynced) }
  } catch (error) {
    disk.closeSync(fd)
    await disk.unlink(staging.at(name)).catch(() => {})
    throw error
  }
}

/** Sets the time of modification, or the present in the place of a time that the disk cannot keep, and returns what the file has. */
function setTime(disk: Disk, fd: number, modified: Date | undefined): BigIntStats {
  if (modified !== undefined) {
    disk.touchSync(fd, uniqueTime(modified))
    const stats = disk.fstatSync(fd)
    // A disk that keeps 32 bits of seconds turns the year 1601 into 1901.
    if (modifiedOf(stats).getTime() === modified.getTime()) return stats
  }
  disk.touchSync(fd, uniquePresent())
  return disk.fstatSync(fd)
}

async function syncAndClose(disk: Disk, fd: number, isSynced: boolean): Promise<void> {
  try {
    if (!isSynced) await disk.fdatasync(fd)
  } finally {
    disk.closeSync(fd)
  }
}

/** Writes one batch while the next one arrives. */
async function receive(
  { disk, freeSpace }: Store,
  fd: number,
  content: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<void> {
  let batch: Uint8Array[] = []
  let batched = 0
  let written = 0
  let writing: Promise<void> | null = null
  const write = async (chunks: readonly Uint8Array[], bytes: number, start: number) => {
    await freeSpace.reserve(bytes, signal, () => writeAll(disk, fd, chunks, start))
    free(chunks)
  }
  const flush = async () => {
    await writing
    writing = write(batch, batched, written)
    // The next `await writing` reports its failure.
    writing.catch(() => {})
    written += batched
    batch = []
    batched = 0
  }
  try {
    for await (const chunk of content) {
      batch.push(chunk)
      batched += chunk.length
      if (batched >= batchBytes || batch.length === batchChunks) await flush()
    }
    if (batched > 0) await flush()
    await writing
  } finally {
    // The file must not be closed during a write.
    await (writing as Promise<void> | null)?.catch(() => {})
  }
}

async function writeAll(disk: Disk, fd: number, batch: readonly Uint8Array[], start: number): Promise<void> {
  let left = batch
  let position = start
  while (left.length > 0) {
    const count = await disk.writev(fd, left, position)
    position += count
    left = after(left, count)
  }
}

/** Frees the memory of chunks that fill their buffers. The garbage collection would let those of a large upload pile up. */
function free(chunks: readonly Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks) {
    const isWhole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
    if (isWhole && byteLength >= minFreedBytes) buffer.transfer(0)
  }
}

/** Returns the buffers without their first bytes. */
function after(buffers: readonly Uint8Array[], count: number): readonly Uint8Array[] {
  let skipped = 0
  for (const [index, buffer] of buffers.entries()) {
    if (skipped + buffer.length > count) {
      return [buffer.subarray(count - skipped), ...buffers.slice(index + 1)]
    }
    skipped += buffer.length
  }
  return []
}
