import { closeSync, constants, createWriteStream, mkdirSync, openSync, utimesSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import { archiveFailure, EntryTree, withShortPath } from '@nodekeep/plugin-sdk/archive'
import { archiveEntryNames, backupFormat, maxEntries } from '../archive/backup-header.ts'
import { inTime, type StallLimit } from '../archive/in-time.ts'
import { ManifestWriter, manifestEntry } from '../archive/manifest.ts'
import type { NodeContent, NodeEntry } from '../create/archive-content.ts'
import { requireFreeSpace } from '../create/free-space.ts'

interface UnpackedOptions extends StallLimit {
  /** Copies every file. Otherwise those that can be linked are hard links. */
  readonly copies: boolean
}

/**
 * Writes the content of an archive into an empty folder, with the times of files and folders. Its `manifest.json` has no checksums,
 * since files are linked and not read. What it has written stays when it rejects.
 *
 * Rejects with the errors of the entries, with the reason of the signal, and with NodekeepError INSUFFICIENT_STORAGE before copies
 * take the last room of the disk.
 */
export async function writeUnpackedBackup(
  root: string,
  { header, entries }: NodeContent,
  { copies, ...limit }: UnpackedOptions,
): Promise<void> {
  const tree = new EntryTree(maxEntries)
  const folders: NodeEntry[] = []
  let last = ''
  const parents = new OpenParent(root)
  try {
    tree.add(archiveEntryNames.header, 'file')
    const text = `${JSON.stringify({ format: backupFormat, ...header }, null, 2)}\n`
    await writeFile(join(root, archiveEntryNames.header), text, { mode: 0o600 })
    const manifest = new ManifestWriter()
    const modified = header.created
    manifest.add({ path: archiveEntryNames.header, type: 'file', size: Buffer.byteLength(text), modified })
    const late = () => `no entry followed ${JSON.stringify(last)}`
    for await (const entry of inTime(entries, late, limit)) {
      limit.signal.throwIfAborted()
      const { path, type } = entry
      last = path
      tree.add(path, type)
      const at = parents.pathOf(path)
      if (type === 'directory') {
        mkdirSync(at, { recursive: true, mode: 0o700 })
        folders.push(entry)
      } else if (copies || !(await entry.link?.(at))) {
        await requireFreeSpace(root, entry.size)
        await copy(entry, at, limit)
      }
      manifest.add(manifestEntry(entry, { changed: entry.changed() }))
    }
    tree.add(archiveEntryNames.manifest, 'file')
    await requireFreeSpace(root, manifest.manifestBytes)
    await writeFile(join(root, archiveEntryNames.manifest), manifest.manifest(), { mode: 0o600 })
    // Writing into a folder changes its time, so inner folders come first.
    for (const { path, modified } of folders.reverse()) setTimes(parents.pathOf(path), modified)
  } catch (error) {
    limit.signal.throwIfAborted()
    const failure = archiveFailure(error)
    if (failure === null) throw error
    const why = failure.code === 'INSUFFICIENT_STORAGE' ? 'cannot be made: the disk is full' : failure.message
    throw new NodekeepError(failure.code, `The view of the moment ${why}.`, { cause: error })
  } finally {
    parents.close()
  }
}

async function copy(entry: NodeEntry, to: string, limit: StallLimit): Promise<void> {
  const late = () => `no more bytes of ${JSON.stringify(entry.path)} came`
  let missing = entry.size
  const source = inTime<Uint8Array>(entry.open(), late, limit)
  await pipeline(
    source,
    async function* (chunks: AsyncIterable<Uint8Array>) {
      for await (const chunk of chunks) {
        missing -= chunk.length
        // The source may use the memory again.
        yield Buffer.from(chunk)
      }
    },
    createWriteStream(to, { flags: 'wx', mode: 0o600 }),
    { signal: limit.signal },
  )
  if (missing !== 0) {
    throw new NodekeepError(
      'INTERNAL_ERROR',
      `The backup failed: ${JSON.stringify(entry.path)} has ${missing < 0 ? 'more' : 'fewer'} than the ${entry.size} bytes that were expected.`,
    )
  }
  setTimes(to, entry.modified)
}

/** As text: Node replaces a negative number, a time before 1970, by the present. Half a microsecond more keeps the millisecond. */
function setTimes(path: string, time: Date): void {
  const seconds = `${(time.getTime() + 0.0005) / 1000}`
  utimesSync(path, seconds, seconds)
}

/** The open folder above the entries that are written now. On Linux, paths begin at it, however long the whole path is. */
class OpenParent {
  readonly #root: string
  #folder = ''
  #descriptor: number | null = null

  constructor(root: string) {
    this.#root = root
  }

  /** Returns a path that the system takes. It is valid until the next call. Makes the folders above it. */
  pathOf(path: string): string {
    const whole = join(this.#root, path)
    const folder = dirname(whole)
    if (process.platform !== 'linux') {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      return whole
    }
    if (folder !== this.#folder || this.#descriptor === null) {
      this.close()
      this.#descriptor = withShortPath(folder, (short) => {
        mkdirSync(short, { recursive: true, mode: 0o700 })
        return openSync(short, constants.O_DIRECTORY | constants.O_NOFOLLOW)
      })
      this.#folder = folder
    }
    return `/proc/self/fd/${this.#descriptor}/${whole.slice(folder.length + 1)}`
  }

  close(): void {
    if (this.#descriptor !== null) closeSync(this.#descriptor)
    this.#descriptor = null
  }
}
