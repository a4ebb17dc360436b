import { isNodekeepError } from '@nodekeep/plugin-sdk'
import { timeOfSeconds } from '@nodekeep/plugin-sdk/stored-content'
import type { DavRequest } from '../dav-request.ts'
import { modifiedSeconds } from './live-properties.ts'

/** Bytes of a file whose time can be set. The file is written again for it. */
const largestFile = 64 * 1024 * 1024

/** Storages keep times in steps of at most 2 seconds. */
const stepMs = 2000

/** The time that a property sets: in seconds since 1970, or as a date of HTTP (RFC 4918, section 15.7); null for another text. */
export function timeOfProperty(name: string, text: string): Date | null {
  const value = text.trim()
  if (name === modifiedSeconds) return timeOfSeconds(value)
  const time = /^[A-Z][a-z]{2}, .* GMT$/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(time) ? null : new Date(time)
}

/**
 * Gives a file a time of modification. Storages take it only with the content, so the file is written again. A folder and a larger file keep their
 * time: file managers that set the time after an upload would call the upload failed otherwise. A file that changes meanwhile keeps its time too.
 */
export async function setModified(
  { files, path }: Pick<DavRequest, 'files' | 'path'>,
  time: Date,
): Promise<void> {
  const entry = await files.stat(path)
  const differs = Math.abs(entry.modified.getTime() - time.getTime()) >= stepMs
  if (entry.type === 'directory' || entry.size > largestFile || !differs) return
  const { entry: read, content } = await files.read(path)
  try {
    await files.write(path, content, { modified: time, ifRevision: read.revision, size: read.size })
  } catch (error) {
    if (!isNodekeepError(error) || error.code !== 'PRECONDITION_FAILED') throw error
  } finally {
    // The loop closes the file, also if the write did not begin to read it.
    for await (const _chunk of content) break
  }
}
