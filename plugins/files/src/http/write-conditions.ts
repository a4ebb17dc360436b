import type { IncomingHttpHeaders } from 'node:http'
import { isNodekeepError, NodekeepError, type StorageConditions, type UserFiles } from '@nodekeep/plugin-sdk'
import { entityTag, entityTags } from './validators.ts'

/**
 * The conditions under which a file may be written: `if-match` with the version that it must be in,
 * `if-none-match: *` when nothing may be there.
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

/** The same for a removal, which knows `if-match` only. */
export async function removeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<Pick<StorageConditions, 'ifRevision'>> {
  const match = headers['if-match']
  if (match === undefined) return {}
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

function otherVersion(): NodekeepError {
  return new NodekeepError('PRECONDITION_FAILED', 'The file is not in the version that the request names.')
}
