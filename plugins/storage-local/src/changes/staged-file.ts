import { type BigIntStats, constants } from 'node:fs'
import { ChunkBatch, type StorageDriverWriteOptions } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { uniquePresent, uniqueTime } from '../disk/file-times.ts'
import { modifiedOf } from '../reading/entry.ts'
import type { Store } from './store.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

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
  const writev = (chunks: readonly Uint8Array[], position: number) => disk.writev(fd, chunks, position)
  let batch = new ChunkBatch()
  let written = 0
  let writing: Promise<void> | null = null
  const write = async (full: ChunkBatch, start: number) => {
    await freeSpace.reserve(full.bytes, signal, () => full.write(writev, start))
    full.free()
  }
  const flush = async () => {
    await writing
    writing = write(batch, written)
    // The next `await writing` reports its failure.
    writing.catch(() => {})
    written += batch.bytes
    batch = new ChunkBatch()
  }
  try {
    for await (const chunk of content) if (batch.add(chunk)) await flush()
    if (batch.bytes > 0) await flush()
    await writing
  } finally {
    // The file must not be closed during a write.
    await (writing as Promise<void> | null)?.catch(() => {})
  }
}
