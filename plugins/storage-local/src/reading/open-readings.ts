import { NodekeepError, type StorageReading, type StorageReadOptions } from '@nodekeep/plugin-sdk'
import { storageError } from '../disk/disk-errors.ts'
import { type ByteRange, rangeOf } from './entry.ts'
import { chunksOf, type OpenFile } from './file-chunks.ts'

/** The readings of a backend that have a file open. The backend's close ends them. */
export class OpenReadings {
  readonly #ends = new Set<(reason: unknown) => Promise<void>>()

  /** Returns the reading of an open file. The reading closes the file, however it ends. */
  read(file: OpenFile, options: StorageReadOptions): StorageReading {
    try {
      const range = rangeOf(file.entry.size, options)
      return { entry: file.entry, content: this.#contentOf(file, range, options) }
    } catch (error) {
      file.disk.closeSync(file.fd)
      throw error
    }
  }

  /** Ends all readings: they fail with SERVICE_UNAVAILABLE. */
  async end(): Promise<void> {
    await Promise.all([...this.#ends].map((end) => end(closed())))
  }

  #contentOf(
    file: OpenFile,
    range: ByteRange,
    { signal, reuseBuffers = false }: StorageReadOptions,
  ): AsyncIterable<Uint8Array> {
    const chunks = chunksOf(file, range, reuseBuffers)
    let begun = false
    let ended: { readonly reason: unknown } | null = null
    const close = async () => {
      this.#ends.delete(end)
      signal?.removeEventListener('abort', abort)
      // A generator that never ran does not close the file when it is told to return.
      if (!begun) await file.disk.close(file.fd)
      begun = true
      await chunks.return()
    }
    const end = async (reason: unknown) => {
      ended ??= { reason }
      await close()
    }
    const abort = () => void end(signal?.reason)
    this.#ends.add(end)
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
}

/** The error of every call after the close of a backend. */
export function closed(): NodekeepError {
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The storage is closed. Start it again to use it.')
}
