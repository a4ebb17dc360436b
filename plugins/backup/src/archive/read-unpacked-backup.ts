import { closeSync, constants, createReadStream, lstatSync, openSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ArchiveError, EntryTree, type ReadableEntry, withShortPath } from '@nodekeep/plugin-sdk/archive'
import { archiveEntryNames, maxEntries, maxHeaderBytes } from './backup-header.ts'
import { type ManifestEntry, manifestEntries } from './manifest.ts'

const noContent: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: async function* () {} }

/** Whether a backup is a folder: the view of a moment that a program has stored and put back, or an archive that was unpacked. */
export async function isUnpackedBackup(file: string): Promise<boolean> {
  return (await stat(file)).isDirectory()
}

/** The bytes of `backup.json` of a view. */
export async function unpackedHeader(folder: string): Promise<Buffer> {
  const found = lstatSync(join(folder, archiveEntryNames.header), { throwIfNoEntry: false })
  if (!found?.isFile())
    throw new ArchiveError(`is no backup of Nodekeep: it is a folder without ${archiveEntryNames.header}`)
  if (found.size > maxHeaderBytes)
    throw new ArchiveError(`has a ${archiveEntryNames.header} that is too large`)
  return await readFile(join(folder, archiveEntryNames.header))
}

/** The bytes of all files of a view, and whether its manifest has checksums. That of a moment has none. */
export async function unpackedExtent(
  folder: string,
): Promise<{ readonly bytes: number; readonly hasSums: boolean }> {
  let [bytes, hasSums] = [0, false]
  for await (const { size, sha256 } of entriesIn(folder)) {
    bytes += size
    hasSums ||= sha256 !== undefined
  }
  return { bytes, hasSums }
}

/**
 * Reads the entries of a view in the order of its manifest, with the times of the manifest, and the manifest last. Other files in the
 * folder do not belong to it. It follows no links.
 *
 * @throws ArchiveError
 */
export async function* unpackedEntries(
  folder: string,
  onChunk: (bytes: number) => void,
): AsyncGenerator<ReadableEntry, void, undefined> {
  const tree = new EntryTree(maxEntries + Object.keys(archiveEntryNames).length)
  const folders = new Set<string>(['.'])
  for await (const { path, type, size, modified } of entriesIn(folder)) {
    tree.add(path, type)
    checkFolders(folder, path, folders)
    const found = withShortPath(join(folder, path), (short) => lstatSync(short, { throwIfNoEntry: false }))
    const isSame = type === 'directory' ? found?.isDirectory() : found?.isFile() && found.size === size
    if (!isSame) throw differs(path)
    const content = type === 'directory' ? noContent : contentOf(folder, path, size, onChunk)
    yield { path, type, size, modified: new Date(modified), executable: false, content }
  }
  const manifest = join(folder, archiveEntryNames.manifest)
  const { size, mtime } = await stat(manifest)
  const own = {
    path: archiveEntryNames.manifest,
    type: 'file',
    size,
    modified: mtime,
    executable: false,
  } as const
  yield { ...own, content: contentOf(folder, archiveEntryNames.manifest, size, () => {}) }
}

async function* entriesIn(folder: string): AsyncGenerator<ManifestEntry, void, undefined> {
  const manifest = join(folder, archiveEntryNames.manifest)
  if (!lstatSync(manifest, { throwIfNoEntry: false })?.isFile())
    throw new ArchiveError(`is not whole: it has no ${archiveEntryNames.manifest}`)
  for await (const entry of manifestEntries(manifest)) {
    const { type, size, modified } = entry
    const isLegible =
      (type === 'file' || type === 'directory') &&
      Number.isSafeInteger(size) &&
      size >= 0 &&
      !Number.isNaN(Date.parse(modified))
    if (!isLegible) throw differs(entry.path)
    yield entry
  }
}

function differs(path: string): ArchiveError {
  return new ArchiveError(
    `differs from its manifest: the first difference is ${JSON.stringify(path.slice(0, 200))}`,
  )
}

/** Nothing above an entry may be a link. */
function checkFolders(root: string, path: string, known: Set<string>): void {
  const above = dirname(path)
  if (known.has(above)) return
  checkFolders(root, above, known)
  const found = withShortPath(join(root, above), (short) => lstatSync(short, { throwIfNoEntry: false }))
  if (!found?.isDirectory()) throw differs(above)
  known.add(above)
}

/** The content has exactly `size` bytes. */
async function* contentOf(
  folder: string,
  path: string,
  size: number,
  onChunk: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)
  const descriptor = withShortPath(join(folder, path), (short) => openSync(short, flags))
  let missing = size
  try {
    for await (const chunk of createReadStream('', { fd: descriptor, autoClose: false })) {
      missing -= chunk.length
      if (missing < 0) throw differs(path)
      yield chunk
      onChunk(chunk.length)
    }
  } finally {
    closeSync(descriptor)
  }
  if (missing !== 0) throw differs(path)
}
