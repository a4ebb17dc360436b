import type { BigIntStats } from 'node:fs'
import {
  NodekeepError,
  type StorageEntry,
  type StorageReading,
  type StorageReadOptions,
} from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { storageError } from '../disk/disk-errors.ts'
import { chunksOf } from './file-chunks.ts'
import type { Readings } from './readings.ts'

/** A file that is open. */
export interface OpenFile {
  readonly disk: Disk
  readonly fd: number
  readonly stats: BigIntStats
  readonly entry: StorageEntry
}

/** The bytes from `start` up to, but not including, `end`. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** @throws NodekeepError RANGE_NOT_SATISFIABLE for what is not within the file */
export function rangeOf(size: number, { start, end }: StorageReadOptions): ByteRange {
  if (start === undefined && end === undefined) return { start: 0, end: size }
  const [first, last] = [start ?? 0, end ?? size - 1]
  if (first >= 0 && first <= last && last < size) return { start: first, end: last + 1 }
  throw new NodekeepError('RANGE_NOT_SATISFIABLE', `The file has ${size} bytes. Ask for a range within it.`)
}

/** The reading of an open file, which closes it in the end, however it ends. */
export function readingOf(file: OpenFile, options: StorageReadOptions, readings: Readings): StorageReading {
  try {
    const range = rangeOf(file.entry.size, options)
    return { entry: file.entry, content: contentOf(file, range, options, readings) }
  } catch (error) {
    file.disk.closeSync(file.fd)
    throw error
  }
}

function contentOf(
  file: OpenFile,
  range: ByteRange,
  { signal, reuseBuffers = false }: StorageReadOptions,
  readings: Readings,
): AsyncIterable<Uint8Array> {
  const chunks = chunksOf(file, range, reuseBuffers)
  let begun = false
  let ended: { readonly reason: unknown } | null = null
  const close = async () => {
    forget()
    signal?.removeEventListener('abort', abort)
    // A generator that never ran has nothing to leave, so it doesn't close the file.
    if (!begun) await file.disk.close(file.fd)
    begun = true
    await chunks.return()
  }
  const end = async (reason: unknown) => {
    ended ??= { reason }
    await close()
  }
  const abort = () => void end(signal?.reason)
  const forget = readings.add(end)
  signal?.addEventListener('abort', abort, { once: true })
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (ended !== null) throw ended.reason
      begun = true
      try {
        const step = await chunks.next()
        if (ended !== null) throw (ended as { readonly reason: unknown }).reason
        if (step.done) await close()
        return step
      } catch (error) {
        await close()
        throw storageError(error)
      }
    },
    async return() {
      await close()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}
