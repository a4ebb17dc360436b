import { type BigIntStats, constants } from 'node:fs'
import { interruptible, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { foreign } from '../disk/disk-errors.ts'
import { createEarlySync } from './early-sync.ts'
import type { Store } from './store.ts'
import { nextTime } from './write-times.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/**
 * So many bytes are written at once while few write, and while many do. Two such batches are what a writer costs,
 * however large the file.
 */
const [LARGE_BATCH, SMALL_BATCH] = [512 * 1024, 128 * 1024]
const fewWriters = 16

let writers = 0
const batchChunks = 1024

/** Smaller chunks are left to the garbage collection, in bytes. */
const worthFreeing = 16 * 1024

export interface Incoming {
  readonly content: AsyncIterable<Uint8Array>
  /** Bytes that were announced. */
  readonly size: number | undefined
  /** Whether chunks may be freed when they are written. */
  readonly freeChunks: boolean
  readonly signals: readonly AbortSignal[]
}

/** Up to this size a file is synced while others note what is about to happen with it, in bytes. */
const syncAside = 64 * 1024

/** A new file in the side folder. It is whole. */
export interface StagedFile {
  readonly name: string
  readonly stats: BigIntStats
  /** Resolves when the file is on the disk; to be waited for in any case. */
  readonly durable: Promise<void>
}

/**
 * Receives a stream into the side folder. When that fails, nothing stays. Large files are on the disk when this
 * resolves; small ones may not be yet.
 */
export async function stage(store: Store, incoming: Incoming): Promise<StagedFile> {
  const { disk, side, room } = store
  await room.check(incoming.size, incoming.signals)
  const name = side.freshName('write')
  const fd = await disk.open(side.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o666)
  try {
    await receive(store, fd, incoming)
    disk.touchSync(fd, nextTime())
    const stats = disk.fstatSync(fd)
    if (stats.size > syncAside) await disk.fdatasync(fd)
    return { name, stats, durable: finish(disk, fd, stats.size > syncAside) }
  } catch (error) {
    disk.closeSync(fd)
    await disk.unlink(side.at(name)).catch(() => {})
    throw error
  }
}

async function finish(disk: Disk, fd: number, isSynced: boolean): Promise<void> {
  try {
    if (!isSynced) await disk.fdatasync(fd)
  } finally {
    disk.closeSync(fd)
  }
}

/** Writes one batch while the next one arrives. */
async function receive(
  { disk, room }: Store,
  fd: number,
  { content, size, freeChunks, signals }: Incoming,
): Promise<void> {
  let batch: Uint8Array[] = []
  let batched = 0
  let written = 0
  let writing: Promise<void> | null = null
  const early = createEarlySync(disk, fd)
  writers += 1
  const write = async (chunks: readonly Uint8Array[], bytes: number, start: number) => {
    early.written(await room.fill(bytes, signals, () => writeAll(disk, fd, chunks, start)))
    if (freeChunks) free(chunks)
  }
  const flush = async () => {
    await writing
    writing = write(batch, batched, written)
    // Its failure counts when it is waited for.
    writing.catch(() => {})
    written += batched
    batch = []
    batched = 0
  }
  try {
    for await (const chunk of foreign(interruptible(content, ...signals))) {
      if (chunk.length === 0) continue
      batch.push(chunk)
      batched += chunk.length
      if (size !== undefined && written + batched > size) throw wrongSize(size, 'more')
      const enough = writers > fewWriters ? SMALL_BATCH : LARGE_BATCH
      if (batched >= enough || batch.length === batchChunks) await flush()
    }
    if (size !== undefined && written + batched < size) throw wrongSize(size, 'fewer')
    if (batched > 0) await flush()
    await writing
    await early.end()
  } finally {
    writers -= 1
    // The file must not be closed under a write or sync that is under way.
    await (writing as Promise<void> | null)?.catch(() => {})
    await early.end().catch(() => {})
  }
}

/** Resolves with the position after the batch. */
async function writeAll(
  disk: Disk,
  fd: number,
  batch: readonly Uint8Array[],
  start: number,
): Promise<number> {
  let left = batch
  let position = start
  while (left.length > 0) {
    const count = await disk.writev(fd, left, position)
    position += count
    left = after(left, count)
  }
  return position
}

/** Gives back the memory of chunks that fill their buffers. */
function free(chunks: readonly Uint8Array[]): void {
  for (const { buffer, byteLength } of chunks) {
    const isWhole = byteLength === buffer.byteLength && buffer instanceof ArrayBuffer
    if (isWhole && byteLength >= worthFreeing) buffer.transfer(0)
  }
}

/** What is left of buffers after their first bytes. */
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

function wrongSize(size: number, which: 'more' | 'fewer'): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `There were ${which} bytes than the ${size} that were announced.`,
  )
}
