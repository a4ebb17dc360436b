import type { FileListEntry, FileReading, UserFiles } from '@nodekeep/plugin-sdk'
import { nullIfGone } from './gone.ts'

/** Files that are open at a time. */
const filesAtOnce = 8

/** Bytes of files that an archive holds in memory until the client has read them. */
const heldBytes = 512 * 1024

/** Bytes that all archives together hold in this way. */
const mostHeldBytes = 16 * 1024 * 1024

/** A file or folder whose turn comes later. */
interface Ahead {
  readonly entry: FileListEntry
  /** Bytes that are held in memory for it. */
  readonly held: number
  readonly reading: Promise<FileReading | null>
}

/** Reads files of archives ahead. All archives share its memory. */
export class ReadAhead {
  #heldBytes = 0

  /**
   * Opens files in their order, some of them ahead: a storage with slow requests answers meanwhile. Files that are gone are left out, and
   * folders have no reading.
   *
   * A file is read ahead whole, if it fits into {@link heldBytes} together with the others of its archive. Any other file is opened at its
   * turn: servers end connections from which nobody reads, and a client may take any time for the files before.
   *
   * @param end ends all readings. It is aborted at the latest when the loop ends
   */
  async *open(
    files: UserFiles,
    entries: AsyncIterable<FileListEntry>,
    end: AbortController,
  ): AsyncGenerator<readonly [entry: FileListEntry, reading: FileReading | null], void, undefined> {
    const source = entries[Symbol.asyncIterator]()
    const ahead: Ahead[] = []
    let held = 0
    try {
      let step = await source.next()
      for (;;) {
        while (!step.done && ahead.length < filesAtOnce) {
          const entry = step.value
          const isHeld = held + entry.size <= heldBytes && this.#heldBytes + entry.size <= mostHeldBytes
          if (!isHeld && ahead.length > 0) break
          const isFile = entry.type === 'file'
          const reading = isFile ? open(files, entry, { isHeld, signal: end.signal }) : Promise.resolve(null)
          // A failure is thrown at its turn.
          reading.catch(() => {})
          const bytes = isHeld ? entry.size : 0
          ahead.push({ entry, held: bytes, reading })
          held += bytes
          this.#heldBytes += bytes
          step = await source.next()
        }
        const first = ahead.shift()
        if (first === undefined) return
        const reading = await first.reading
        if (reading !== null || first.entry.type === 'directory') yield [first.entry, reading]
        // The client has read it by now.
        held -= first.held
        this.#heldBytes -= first.held
      }
    } finally {
      end.abort()
      this.#heldBytes -= held
      await Promise.allSettled(ahead.map(({ reading }) => reading))
      await source.return?.()
    }
  }
}

/** Opens a file, and reads it whole if it is to be held and did not grow. Returns null if it is gone. */
async function open(
  files: UserFiles,
  { path, size }: FileListEntry,
  { isHeld, signal }: { readonly isHeld: boolean; readonly signal: AbortSignal },
): Promise<FileReading | null> {
  const reading = await files.read(path, { signal, reuseBuffers: !isHeld }).catch(nullIfGone)
  if (reading === null || !isHeld || reading.entry.size > size) return reading
  const { entry, content } = reading
  return { entry, content: each(await Array.fromAsync(content)) }
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks
}
