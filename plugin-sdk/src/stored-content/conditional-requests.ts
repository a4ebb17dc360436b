import type { IncomingHttpHeaders } from 'node:http'
import type { FileEntry, UserFiles } from '../contracts/files.ts'
import type { StorageConditions } from '../contracts/storage.ts'
import { isNodekeepError, NodekeepError } from '../errors.ts'
import { entityTags, namesTag } from './entity-tags.ts'
import { entityTag } from './version-headers.ts'

type Version = Pick<FileEntry, 'revision' | 'modified'>

/** The result of the conditions of a request: send the file, answer 304, or answer 412. */
type ConditionResult = 'proceed' | 'not-modified' | 'failed'

/** Evaluates the conditions of a GET or HEAD request, in the order of RFC 9110, section 13.2.2. */
export function readConditions(headers: IncomingHttpHeaders, file: Version): ConditionResult {
  const tag = entityTag(file)
  const match = headers['if-match']
  if (match !== undefined) {
    if (match.trim() !== '*' && !entityTags(match).includes(tag)) return 'failed'
  } else if (isAfter(file.modified, headers['if-unmodified-since'])) return 'failed'
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return namesTag(noneMatch, tag) ? 'not-modified' : 'proceed'
  const since = headers['if-modified-since']
  return !Number.isNaN(parseDate(since)) && !isAfter(file.modified, since) ? 'not-modified' : 'proceed'
}

/**
 * Whether a range may be served: `if-range` is missing, or names exactly this version. A date never does: a file can
 * change twice in a second, and the client would join parts of two versions (RFC 9110, sections 8.8.2.2 and 13.1.5).
 */
export function allowsRange(header: string | undefined, file: Pick<FileEntry, 'revision'>): boolean {
  return header === undefined || header.trim() === entityTag(file)
}

/** Whether a file was changed after an HTTP date. False for an invalid date. */
function isAfter(modified: Date, header: string | undefined): boolean {
  return wholeSeconds(modified) > parseDate(header)
}

/** The time of a date in one of HTTP's three forms (RFC 9110, section 5.6.7); NaN for anything else. */
function parseDate(header = ''): number {
  const value = header.trim()
  if (/^[A-Z][a-z]{2,8}, .* GMT$/.test(value)) return Date.parse(value)
  // The form of C's `asctime` is GMT too, but does not say so.
  return /^[A-Z][a-z]{2} [A-Z][a-z]{2} .* \d{4}$/.test(value) ? Date.parse(`${value} GMT`) : Number.NaN
}

/** HTTP dates have no fractions of seconds. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}

/**
 * The conditions under which a file may be written: `if-match` names its current version, `if-unmodified-since` a time,
 * `if-none-match: *` demands that nothing is there.
 *
 * @throws NodekeepError PRECONDITION_FAILED when they cannot hold, VALIDATION_ERROR for another `if-none-match`
 */
export async function writeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<StorageConditions> {
  if (!demandsAbsence(headers)) return versionConditions(files, path, headers)
  if (headers['if-match'] !== undefined) {
    throw new NodekeepError('VALIDATION_ERROR', '"if-match" and "if-none-match: *" exclude each other.')
  }
  return { ifAbsent: true }
}

/**
 * The conditions under which a file or folder may be moved or copied: `if-match` and `if-unmodified-since` are about the
 * source, `if-none-match: *` demands that nothing is at the destination.
 *
 * @throws NodekeepError PRECONDITION_FAILED when they cannot hold, VALIDATION_ERROR for another `if-none-match`
 */
export async function transferConditions(
  files: UserFiles,
  source: string,
  headers: IncomingHttpHeaders,
): Promise<StorageConditions> {
  const ifAbsent = demandsAbsence(headers)
  return { ...(await sourceConditions(files, source, headers)), ...(ifAbsent && { ifAbsent }) }
}

/** @throws NodekeepError VALIDATION_ERROR when `if-none-match` has another value than `*` */
function demandsAbsence(headers: IncomingHttpHeaders): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch === undefined || noneMatch.trim() === '*') return noneMatch !== undefined
  throw new NodekeepError('VALIDATION_ERROR', 'For a change, "if-none-match" must be "*".')
}

/**
 * The conditions under which a file or folder may be removed.
 *
 * @throws NodekeepError PRECONDITION_FAILED when they cannot hold, VALIDATION_ERROR for others
 */
export async function removeConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<VersionCondition> {
  if (headers['if-none-match'] !== undefined) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'A deletion does not support "if-none-match". Send it without.',
    )
  }
  return sourceConditions(files, path, headers)
}

/** A folder has no version, so the only condition for it is that it exists. */
async function sourceConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<VersionCondition> {
  const match = headers['if-match']
  if (match === undefined && headers['if-unmodified-since'] === undefined) return {}
  if ((await files.stat(path).catch(nullIfGone))?.type !== 'directory')
    return versionConditions(files, path, headers)
  if (match?.trim() === '*') return {}
  throw new NodekeepError(
    'VALIDATION_ERROR',
    'A folder has no version. Send "if-match: *", or no "if-match".',
  )
}

/**
 * Refuses conditions on calls that do not support any. Ignoring a condition could destroy what it protects.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function refuseConditions(headers: IncomingHttpHeaders): void {
  const given = conditions.find((name) => headers[name] !== undefined)
  if (given === undefined) return
  throw new NodekeepError('VALIDATION_ERROR', `This call does not support "${given}". Send it without.`)
}

const conditions = ['if-match', 'if-none-match', 'if-unmodified-since'] as const

type VersionCondition = Pick<StorageConditions, 'ifRevision'>

async function versionConditions(
  files: UserFiles,
  path: string,
  headers: IncomingHttpHeaders,
): Promise<VersionCondition> {
  const match = headers['if-match']
  if (match === undefined) return unmodifiedCondition(files, path, headers['if-unmodified-since'])
  const tags = entityTags(match)
  const [tag, ...others] = tags
  if (tag !== undefined && others.length === 0 && tag.startsWith('"')) return { ifRevision: tag.slice(1, -1) }
  // With several versions or `*`, the file must keep the version that it has now, if that is among them.
  const entry = await files.stat(path).catch(nullIfGone)
  if (entry === null) throw versionError()
  if (match.trim() !== '*' && !tags.includes(entityTag(entry))) throw versionError()
  return { ifRevision: entry.revision }
}

/** No condition applies where no file exists (RFC 9110, section 13.1.4). */
async function unmodifiedCondition(
  files: UserFiles,
  path: string,
  since: string | undefined,
): Promise<VersionCondition> {
  if (since === undefined) return {}
  const entry = await files.stat(path).catch(nullIfGone)
  if (entry === null) return {}
  if (isAfter(entry.modified, since)) throw versionError()
  return { ifRevision: entry.revision }
}

/** The error for a condition that does not hold. */
export function versionError(): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    'The file does not have the version that the request names.',
  )
}

function nullIfGone(error: unknown): null {
  if (isNodekeepError(error) && error.code === 'NOT_FOUND') return null
  throw error
}
