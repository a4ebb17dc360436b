import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ArchiveBounds } from './archive/archive-entries.ts'
import { archiveFailure } from './archive/archive-failure.ts'
import type { UnpackingOrder, UnpackingStep } from './archive/archive-thread.ts'
import type { HashedEntry } from './archive/hashed-entries.ts'
import { emptyFolder } from './archive/long-paths.ts'
import { NodekeepError } from './errors.ts'
import { moduleBeside, runInThread } from './threads.ts'

export { type ArchiveBounds, archiveEntries, type ReadableEntry } from './archive/archive-entries.ts'
export type { ArchiveEntry } from './archive/archive-entry.ts'
export { ArchiveError, type ArchiveFailure, archiveFailure } from './archive/archive-failure.ts'
export { EntryTree } from './archive/entry-tree.ts'
export { type HashedEntry, unpackEntries } from './archive/hashed-entries.ts'
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
  const { maxBytes, maxEntries = 1_000_000, signal, onProgress } = options
  const module = moduleBeside(import.meta.url, 'archive/archive-thread')
  try {
    await runInThread<UnpackingOrder, UnpackingStep, void>(module, {
      name: 'archive reader',
      order: { file, folder, maxBytes, maxEntries },
      signal,
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: 512 },
      onMessage: (step) => (step.kind === 'entry' ? onEntry(step.entry) : onProgress?.(step.share)),
    })
  } catch (cause) {
    await emptyFolder(folder)
    const failure = archiveFailure(cause)
    if (failure === null) throw cause
    throw new NodekeepError(failure.code, `The archive ${basename(file)} ${failure.message}.`, { cause })
  }
}
