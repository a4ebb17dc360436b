import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import {
  conflict,
  type FileEntry,
  invalid,
  isNodekeepError,
  NodekeepError,
  parentOf,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { entityTags, timeOfSeconds } from '@nodekeep/plugin-sdk/stored-content'
import type { NewUpload } from './uploads.ts'

/**
 * Reads where and under which conditions a client wants to store a file. What can be known now is refused now, before any byte is sent.
 *
 * @throws NodekeepError VALIDATION_ERROR, PRECONDITION_FAILED, CONFLICT for a folder at the path
 */
export async function readBegin(
  files: UserFiles,
  metadata: Readonly<Record<string, string | null>>,
  headers: IncomingHttpHeaders,
): Promise<Pick<NewUpload, 'path' | 'modified' | 'ifRevision' | 'ifAbsent'>> {
  const { path, mtime } = metadata
  if (!path) throw invalid('Send the path of the file as "path" in "upload-metadata".')
  refuseOtherThanUtf8(headers)
  const modified = mtime === undefined || mtime === null ? null : timeOf(mtime)
  const entry = await files.stat(path).catch(nullIfMissing)
  if (entry?.type === 'directory') throw conflict('A folder has this name. Choose another name for the file.')
  if (entry === null) await refuseBelowFile(files, path)
  return { path, modified, ...conditionsOf(entry, headers) }
}

/** @throws NodekeepError CONFLICT if a file is where one of the folders above a path should be */
async function refuseBelowFile(files: UserFiles, path: string): Promise<void> {
  for (let folder = parentOf(path); folder !== '/'; folder = parentOf(folder)) {
    const entry = await files.stat(folder).catch(nullIfMissing)
    if (entry?.type === 'file') throw conflict(`"${folder}" is a file, so no other file can be in it.`)
    if (entry !== null) return
  }
}

/** The library replaces bytes that are not UTF-8: the file would get another name than the client meant. */
function refuseOtherThanUtf8({ 'upload-metadata': metadata }: IncomingHttpHeaders): void {
  const encoded = /(?:^|,)path ([^,]*)/.exec(String(metadata))?.[1] ?? ''
  if (!isUtf8(Buffer.from(encoded, 'base64')))
    throw invalid('The path in "upload-metadata" is not valid UTF-8.')
}

function conditionsOf(
  entry: FileEntry | null,
  headers: IncomingHttpHeaders,
): Pick<NewUpload, 'ifRevision' | 'ifAbsent'> {
  const { 'if-match': match, 'if-none-match': noneMatch } = headers
  if (headers['if-unmodified-since'] !== undefined)
    throw invalid('An upload does not support "if-unmodified-since". Send "if-match" instead.')
  if (noneMatch !== undefined) {
    if (match !== undefined) throw invalid('"if-match" and "if-none-match: *" exclude each other.')
    if (noneMatch.trim() !== '*') throw invalid('For a change, "if-none-match" must be "*".')
    if (entry !== null) throw changed('A file or folder exists at this path. Choose another path.')
    return { ifRevision: null, ifAbsent: true }
  }
  if (match === undefined) return { ifRevision: null, ifAbsent: false }
  const isNamed = match.trim() === '*' || entityTags(match).includes(`"${entry?.revision}"`)
  if (entry?.revision === undefined || !isNamed)
    throw changed('The file was changed or removed meanwhile. Read it again, then repeat the change.')
  return { ifRevision: entry.revision, ifAbsent: false }
}

/** @throws NodekeepError VALIDATION_ERROR */
function timeOf(mtime: string): Date {
  const time = timeOfSeconds(mtime)
  if (time !== null) return time
  throw invalid('"mtime" must be a number of seconds since 1970, such as 1700000000.')
}

function changed(message: string): NodekeepError {
  return new NodekeepError('PRECONDITION_FAILED', message)
}

function nullIfMissing(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
  throw error
}
