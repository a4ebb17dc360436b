import type { IncomingHttpHeaders } from 'node:http'
import {
  type FileEntry,
  isNodekeepError,
  NodekeepError,
  type StorageConditions,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import { entityTag, entityTags, isAfter } from './validators.ts'

/**
 * The conditions under which a file may be written: `if-match` with the version that it must be in,
 * `if-unmodified-since` with its time, `if-none-match: *` when nothing may be there.
 *
 * @throws NodekeepError PRECONDITION_FAILED when they cannot hold, VALIDATION_ERROR for another `if-none-match`
 */
export async function writeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<StorageConditions> {
  const noneMatch = headers['if-none-match']
  if (noneMatch === undefined) return versionConditions(files, path, headers)
  if (noneMatch.trim() !== '*') {
    throw new NodekeepError('VALIDATION_ERROR', 'For a change, "if-none-match" must be "*".')
  }
  if (headers['if-match'] !== undefined) {
    throw new NodekeepError('VALIDATION_ERROR', '"if-match" and "if-none-match: *" exclude each other.')
  }
  return { ifAbsent: true }
}

/**
 * The conditions under which something may be removed. A folder has no version, so all that can be asked is whether it
 * is there.
 *
 * @throws NodekeepError PRECONDITION_FAILED when they cannot hold, VALIDATION_ERROR for others
 */
export async function removeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<VersionCondition> {
  if (headers['if-none-match'] !== undefined) {
    throw new NodekeepError('VALIDATION_ERROR', 'A deletion does not know "if-none-match".')
  }
  const match = headers['if-match']
  if (match === undefined && headers['if-unmodified-since'] === undefined) return {}
  if ((await entryOf(files, path))?.type !== 'directory') return versionConditions(files, path, headers)
  if (match?.trim() === '*') return {}
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'A folder has no version. Delete it with "if-match: *" or without.',
  )
}

/**
 * Refuses conditions for what doesn't know any: to go on as if they held could destroy what they are to keep.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function refuseConditions(headers: IncomingHttpHeaders): void {
  const given = conditions.find((name) => headers[name] !== undefined)
  if (given === undefined) return
  throw new NodekeepError('VALIDATION_ERROR', `This call does not know "${given}". Send it without.`)
}

const conditions = ['if-match', 'if-none-match', 'if-unmodified-since'] as const

type VersionCondition = Pick<StorageConditions, 'ifRevision'>

async function versionConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<VersionCondition> {
  const match = headers['if-match']
  if (match === undefined) return unmodified(files, path, headers['if-unmodified-since'])
  const tags = entityTags(match)
  const [tag, ...others] = tags
  if (tag !== undefined && others.length === 0 && tag.startsWith('"')) return { ifRevision: tag.slice(1, -1) }
  // Any of several versions, or whichever is there: that is the one that is there now, if it is among them.
  const entry = await entryOf(files, path)
  if (entry === null) throw otherVersion()
  if (match.trim() !== '*' && !tags.includes(entityTag(entry))) throw otherVersion()
  return { ifRevision: entry.revision }
}

/** Says nothing where there is nothing (RFC 9110, section 13.1.4). */
async function unmodified(
  files: UserFiles,
  path: string,
  since: string | undefined,
): Promise<VersionCondition> {
  if (since === undefined) return {}
  const entry = await entryOf(files, path)
  if (entry === null) return {}
  if (isAfter(entry.modified, since)) throw otherVersion()
  return { ifRevision: entry.revision }
}

/** What is at a path, or `null`. */
async function entryOf(files: UserFiles, path: string): Promise<FileEntry | null> {
  return files.stat(path).catch((error) => {
    if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
    throw error
  })
}

function otherVersion(): NodekeepError {
  return new NodekeepError('PRECONDITION_FAILED', 'The file is not in the version that the request names.')
}
