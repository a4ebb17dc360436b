import { createHash } from 'node:crypto'
import { closeSync, fsync, futimesSync, mkdirSync, openSync, utimesSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { concurrently } from '../concurrency/concurrently.ts'
import type { ReadableEntry } from './archive-entries.ts'
import type { ArchiveEntry } from './archive-entry.ts'
import { withShortPath } from './long-paths.ts'

/** An entry whose content was read. */
export interface HashedEntry extends ArchiveEntry {
  /** SHA-256 of the content in hexadecimal digits, `null` for a folder. */
  readonly sha256: string | null
}

/**
 * Writes entries into an empty folder, with their times, in the thread that calls it. What it has written stays there when
 * it throws. The paths of the entries must be checked: those of {@link archiveEntries} are.
 *
 * @param place an empty folder, or a function that returns the absolute path of an entry: a different one for each entry, and for
 *   what is in a folder a path within the path of the folder. It returns `null` for an entry that is only read. It is called
 *   once for each entry, in their order
 * @param options.sync when the iteration has ended, everything survives a power cut
 */
export async function* unpackEntries(
  entries: AsyncIterable<ReadableEntry>,
  place: string | ((entry: ArchiveEntry) => string | null),
  { sync = false }: { readonly sync?: boolean } = {},
): AsyncGenerator<HashedEntry, void, undefined> {
  const placeOf = typeof place === 'string' ? ({ path }: ArchiveEntry) => join(place, path) : place
  const folders: { readonly path: string; readonly modified: Date }[] = []
  const written: string[] = []
  for await (const { content, ...entry } of entries) {
    const path = placeOf(entry)
    const hash = createHash('sha256')
    if (path === null) for await (const chunk of content) hash.update(chunk)
    else if (entry.type === 'file') await writeFile(path, entry, content, (chunk) => hash.update(chunk))
    else {
      withShortPath(path, (short) => mkdirSync(short, { recursive: true }))
      folders.push({ path, modified: entry.modified })
    }
    if (sync && path !== null) written.push(path)
    yield { ...entry, sha256: entry.type === 'file' ? hash.digest('hex') : null }
  }
  // Writing into a folder changes its time, so inner folders come first.
  for (const { path, modified } of folders.reverse()) {
    const seconds = secondsOf(modified)
    withShortPath(path, (short) => utimesSync(short, seconds, seconds))
  }
  await syncAll(written)
}

/** One of the four threads for files is left for everything else. */
const syncsAtOnce = 3

/** Syncs files and folders, and the folders above them. Most of their bytes are on the disk by now. */
async function syncAll(paths: readonly string[]): Promise<void> {
  await concurrently(
    new Set([...paths, ...paths.map((path) => dirname(path))]),
    syncsAtOnce,
    async (path) => {
      const descriptor = withShortPath(path, (short) => openSync(short, 'r'))
      try {
        await promisify(fsync)(descriptor)
      } finally {
        closeSync(descriptor)
      }
    },
  )
}

/**
 * Writes a new file. The folders above it were made by this thread, and nothing of an archive can make a link, so the path
 * stays in the folder.
 */
async function writeFile(
  path: string,
  { modified, executable }: ArchiveEntry,
  content: AsyncIterable<Uint8Array>,
  onChunk: (chunk: Uint8Array) => void,
): Promise<void> {
  const descriptor = withShortPath(path, (short) => {
    mkdirSync(dirname(short), { recursive: true })
    return openSync(short, 'wx', executable ? 0o777 : 0o666)
  })
  try {
    for await (const chunk of content) {
      onChunk(chunk)
      for (let written = 0; written < chunk.length; ) written += writeSync(descriptor, chunk, written)
    }
    const seconds = secondsOf(modified)
    futimesSync(descriptor, seconds, seconds)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Returns a time in seconds, as text: Node replaces a negative number, a time before 1970, by the present. A number of seconds is
 * exact to a quarter of a microsecond, so half of one more keeps the time from falling into the millisecond before.
 */
function secondsOf(time: Date): string {
  return `${(time.getTime() + 0.0005) / 1000}`
}
