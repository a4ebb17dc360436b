import { open, rm } from 'node:fs/promises'
import { ArchiveWriter, type OnProgress, type WrittenArchive } from './archive-writer.ts'
import { type BackupHeader, backupFormat } from './backup-header.ts'
import { type ArchiveSource, readAhead } from './read-sources.ts'
import { checkRecipient } from './recovery-key.ts'

/** The content of an archive. */
interface ArchiveContent {
  readonly header: Omit<BackupHeader, 'format'>
  /** Files may come without the folders above them. */
  readonly entries: AsyncIterable<ArchiveSource>
  /** Public keys of age. With at least one, the archive is encrypted to all of them. */
  readonly recipients?: readonly string[]
  /** The level of gzip, from 1 to 9. Default: 6. */
  readonly level?: number
  /** The longest wait for an entry, and for the next bytes of one, in milliseconds. Default: ten minutes. */
  readonly stallMs?: number
  readonly signal?: AbortSignal
  readonly onProgress?: OnProgress
}

const defaultStallMs = 10 * 60_000

/**
 * Writes a backup into a new file, which is synced when this resolves. Compression and encryption happen in a thread of
 * their own. The memory does not grow with the sizes, and by some 300 bytes for each entry. When it rejects, there is no file.
 *
 * Rejects with the errors of the entries; with the reason of the signal; with NodekeepError VALIDATION_ERROR for a path that a
 * reader would refuse and for a recipient that is not valid, INTERNAL_ERROR for an entry that has another size than it said and
 * for entries that stall, INSUFFICIENT_STORAGE when the disk is full.
 *
 * @param file must not exist. The caller gives it its final name.
 */
export async function writeArchive(
  file: string,
  {
    header,
    entries,
    recipients = [],
    level = 6,
    stallMs = defaultStallMs,
    signal,
    onProgress,
  }: ArchiveContent,
): Promise<WrittenArchive> {
  signal?.throwIfAborted()
  for (const recipient of recipients) checkRecipient(recipient)
  await (await open(file, 'wx', 0o600)).close()
  const packed = { format: backupFormat, ...header }
  const writer = new ArchiveWriter({ file, header: packed, recipients, level }, signal, onProgress)
  try {
    const limit = { stallMs, signal: writer.signal }
    for await (const { source, content } of readAhead(entries, limit)) {
      try {
        await writer.begin(source)
        let next = await content.next()
        for (; !next.done; next = await content.next()) await writer.write(next.value)
        writer.end(next.value)
      } finally {
        await content.return(false)
      }
    }
    return await writer.finish()
  } catch (error) {
    const reason = writer.signal.aborted ? writer.signal.reason : error
    await writer.stop(reason)
    await rm(file, { force: true })
    throw reason
  } finally {
    await writer.stop()
  }
}
