import type { FastifyReply } from 'fastify'
import type { FileEntry, FileReading } from '../contracts/files.ts'

/** The strong entity tag of a file: its revision in quotes. */
export function entityTag({ revision }: Pick<FileEntry, 'revision'>): string {
  return `"${revision}"`
}

/** The headers that identify the version of a file. */
export function versionHeaders(file: FileReading['entry']): Record<string, string> {
  return {
    etag: entityTag(file),
    'last-modified': file.modified.toUTCString(),
    'cache-control': 'private, no-cache',
  }
}

/** Names the version of a file in an answer. Folders have no version. */
export function nameVersion(reply: FastifyReply, entry: FileEntry): void {
  if (entry.type === 'file') reply.header('etag', entityTag(entry))
}
