import type { IncomingHttpHeaders } from 'node:http'
import { isNodekeepError, NodekeepError, type StorageConditions, type UserFiles } from '@nodekeep/plugin-sdk'
import { entityTag, entityTags, isAfter } from './validators.ts'

/**
 * The conditions under which a file may be written: `if-match` with the version that it must be in,
 * `if-unmodified-since` with its time, `if-none-match: *` when nothing may be there.
 *
 * @throws NodekeepError PRECONDITION_FAILED when they can't hold, VALIDATION_ERROR for another `if-none-match`
 */
export async function writeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<StorageConditions> {
  const noneMatch = headers['if-none-match']
  if (noneMatch === undefined) return removeConditions(files, path, headers)
  if (noneMatch.trim() !== '*') {
    throw new NodekeepError('VALIDATION_ERROR', 'For a change, "if-none-match" must be "*".')
  }
  if (headers['if-match'] !== undefined) {
    throw new NodekeepError('VALIDATION_ERROR', '"if-match" and "if-none-match: *" exclude each other.')
  }
  return { ifAbsent: true }
}

/** The same for a removal, which doesn't know `if-none-match`. */
export async function removeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<Pick<StorageConditions, 'ifRevision'>> {
  const match = headers['if-match']
  if (match === undefined) return unmodified(files, path, headers['if-unmodified-since'])
  const tags = entityTags(match)
  const [tag, ...others] = tags
  if (tag !== undefined && others.length === 0 && tag.startsWith('"')) return { ifRevision: tag.slice(1, -1) }
  // Any of several versions, or whichever is there: that is the one that is there now, if it is among them.
  const entry = await files.stat(path).catch((error) => {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') throw otherVersion()
    throw error
  })
  if (match.trim() !== '*' && !tags.includes(entityTag(entry))) throw otherVersion()
  return { ifRevision: entry.revision }
}

/** Says nothing where there is nothing (RFC 9110, section 13.1.4). */
async function unmodified(
  files: UserFiles,
  path: string,
  since: string | undefined,
): Promise<Pick<StorageConditions, 'ifRevision'>> {
  if (since === undefined) return {}
  const entry = await files.stat(path).catch((error) => {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
    throw error
  })
  if (entry === null) return {}
  if (isAfter(entry.modified, since)) throw otherVersion()
  return { ifRevision: entry.revision }
}

function otherVersion(): NodekeepError {
  return new NodekeepError('PRECONDITION_FAILED', 'The file is not in the version that the request names.')
}
