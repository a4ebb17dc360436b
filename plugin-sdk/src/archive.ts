import { on } from 'node:events'
import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { ArchiveBounds, ReadableEntry } from './archive/archive-entries.ts'
import type { HashedEntry } from './archive/hashed-entries.ts'
import { emptyFolder } from './archive/long-paths.ts'
import type { FromThread, ThreadSettings } from './archive/protocol.ts'
import { NodekeepError } from './errors.ts'
import { moduleBeside } from './threads.ts'

export { type ArchiveBounds, archiveEntries, type ReadableEntry } from './archive/archive-entries.ts'
export type { ArchiveEntry } from './archive/archive-entry.ts'
export { ArchiveError, type ArchiveFailure, archiveFailure } from './archive/archive-failure.ts'
export { EntryTree } from './archive/entry-tree.ts'
export { type HashedEntry, hashEntries, unpackEntries } from './archive/hashed-entries.ts'
export { emptyFolder, withShortPath } from './archive/long-paths.ts'

/** The bounds of an archive, and how to follow and stop its reading. */
export interface ArchiveOptions extends ArchiveBounds {
  /** Stops the reading. */
  readonly signal?: AbortSignal
  /** Receives the share of the file that was read, from 0 to 1, at most a hundred times. */
  readonly onProgress?: (share: number) => void
}

/**
 * Unpacks a `.tar.gz` file of any origin into an empty folder, in a thread of its own. It makes files and folders only, with their
 * times, and nothing outside of the folder. When it rejects, the folder is empty again. The files need a sync before they
 * survive a power cut.
 *
 * Rejects with NodekeepError VALIDATION_ERROR when the archive is damaged, cut short, or has anything but files and folders
 * with plain names, each once; PAYLOAD_TOO_LARGE when it exceeds a bound; NOT_FOUND when the file does not exist; CONFLICT
 * when the folder is not empty; INSUFFICIENT_STORAGE when the disk is full; with the reason of the signal when it aborts.
 *
 * @param onEntry called with each entry after it was written
 */
export async function unpackArchive(
  file: string,
  folder: string,
  options: ArchiveOptions,
  onEntry: (entry: HashedEntry) => void = () => {},
): Promise<void> {
  if ((await readdir(folder)).length > 0) {
    throw new NodekeepError('CONFLICT', `The folder for the archive ${basename(file)} is not empty.`)
  }
  try {
    await readHashed(file, { kind: 'unpack', folder }, options, onEntry)
  } catch (error) {
    await emptyFolder(folder)
    throw error
  }
}

/**
 * Reads a `.tar.gz` file to its end without writing anything, with the checks of {@link unpackArchive}.
 *
 * @param onEntry called with each entry after its content was read
 */
export function checkArchive(
  file: string,
  options: ArchiveOptions,
  onEntry: (entry: HashedEntry) => void = () => {},
): Promise<void> {
  return readHashed(file, { kind: 'hash' }, options, onEntry)
}

/**
 * Reads a `.tar.gz` file entry by entry, with the checks of {@link unpackArchive}. Whether the archive is whole is known
 * only when the iteration has ended without an error. A content that is not read is skipped.
 *
 * @example
 * for await (const entry of readArchive(file, { maxBytes: 2 ** 30 })) {
 *   if (entry.path === 'backup.json') return JSON.parse(await text(entry.content))
 * }
 */
export async function* readArchive(
  file: string,
  options: ArchiveOptions,
): AsyncGenerator<ReadableEntry, void, undefined> {
  const thread = readInThread(file, { kind: 'send' }, options)
  try {
    let message = (await thread.next()).value
    while (message !== undefined) {
      if (message.kind !== 'entry') throw new Error('A content has no entry.')
      let next: FromThread | undefined
      async function* content() {
        for (;;) {
          next ??= (await thread.next()).value ?? undefined
          if (next?.kind !== 'chunk') return
          const { bytes } = next
          next = undefined
          yield bytes
        }
      }
      const reading = content()
      yield { ...message.entry, content: reading }
      for await (const _skipped of content());
      message = next
    }
  } finally {
    await thread.return(undefined)
  }
}

async function readHashed(
  file: string,
  task: ThreadSettings['task'],
  options: ArchiveOptions,
  onEntry: (entry: HashedEntry) => void,
): Promise<void> {
  for await (const message of readInThread(file, task, options)) {
    if (message.kind === 'entry') onEntry({ ...message.entry, sha256: message.sha256 })
  }
}

/** Yields entries and chunks. The thread has ended when this has. */
async function* readInThread(
  file: string,
  task: ThreadSettings['task'],
  { maxBytes, maxEntries = 1_000_000, signal, onProgress }: ArchiveOptions,
): AsyncGenerator<FromThread, undefined, undefined> {
  signal?.throwIfAborted()
  const thread = new Worker(moduleBeside(import.meta.url, 'archive/archive-thread'), {
    workerData: { file, maxBytes, maxEntries, task } satisfies ThreadSettings,
    execArgv: [],
    name: 'archive reader',
    resourceLimits: { maxOldGenerationSizeMb: 512 },
  })
  try {
    const messages = on(thread, 'message', { close: ['exit'], ...(signal && { signal }) })
    for await (const [message] of messages as AsyncIterable<[FromThread]>) {
      if (message.kind === 'end') return undefined
      if (message.kind === 'failed') {
        throw new NodekeepError(
          message.failure.code,
          `The archive ${basename(file)} ${message.failure.message}.`,
        )
      }
      if (message.kind === 'progress') onProgress?.(message.share)
      else {
        yield message
        if (task.kind === 'send') thread.postMessage('taken')
      }
    }
    throw new Error('The thread that reads the archive ended too early.')
  } catch (error) {
    signal?.throwIfAborted()
    throw error
  } finally {
    await thread.terminate()
  }
}
