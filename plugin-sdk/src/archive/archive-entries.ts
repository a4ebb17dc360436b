import type { ArchiveEntry } from './archive-entry.ts'
import { ByteReader } from './byte-reader.ts'
import { EntryTree } from './entry-tree.ts'
import { inflate } from './inflate.ts'
import { readTar } from './tar-entries.ts'

/** The bounds of an archive. */
export interface ArchiveBounds {
  /** Bytes that may come out of the gzip file, with headers. A small file can hold terabytes. */
  readonly maxBytes: number
  /** Files and folders that it may have. Default: 1,000,000. */
  readonly maxEntries?: number
}

/** An entry whose content can be read, until the next entry is asked for. */
export interface ReadableEntry extends ArchiveEntry {
  readonly content: AsyncIterable<Uint8Array>
}

/**
 * Reads the bytes of a `.tar.gz` file entry by entry in the thread that calls it, which should be one that serves no requests.
 * It makes the checks of {@link unpackArchive}. Whether the archive is whole is known only when the iteration has ended
 * without an error. A content that is not read is skipped.
 *
 * Throws errors of the archive and of the system, which {@link archiveFailure} explains, and those of the source.
 */
export async function* archiveEntries(
  source: AsyncIterable<Uint8Array>,
  { maxBytes, maxEntries = 1_000_000 }: ArchiveBounds,
): AsyncGenerator<ReadableEntry, void, undefined> {
  const tree = new EntryTree(maxEntries)
  for await (const entry of readTar(new ByteReader(inflate(source, maxBytes)))) {
    tree.add(entry.path, entry.type)
    yield entry
  }
}
