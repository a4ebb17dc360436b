import type { IncomingHttpHeaders } from 'node:http'
import type { FileEntry } from '@nodekeep/plugin-sdk'

type Validated = Pick<FileEntry, 'revision' | 'modified'>

/** What the conditions of a request say: go on, answer 304, or answer 412. */
export type Verdict = 'proceed' | 'not-modified' | 'failed'

/** The strong entity tag of a file: its revision in quotes. */
export function entityTag({ revision }: Pick<FileEntry, 'revision'>): string {
  return `"${revision}"`
}

/** Weighs the conditions of a GET or HEAD request, in the order of RFC 9110, section 13.2.2. */
export function weighConditions(headers: IncomingHttpHeaders, file: Validated): Verdict {
  const tag = entityTag(file)
  const match = headers['if-match']
  if (match !== undefined) {
    if (match.trim() !== '*' && !entityTags(match).includes(tag)) return 'failed'
  } else if (isAfter(file.modified, headers['if-unmodified-since'])) return 'failed'
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) {
    const same = noneMatch.trim() === '*' || entityTags(noneMatch).some((other) => weak(other) === tag)
    return same ? 'not-modified' : 'proceed'
  }
  const since = headers['if-modified-since']
  return !Number.isNaN(parseDate(since)) && !isAfter(file.modified, since) ? 'not-modified' : 'proceed'
}

/**
 * Whether a range may be served: `if-range` is missing, or names exactly this version. A date never does: a file can
 * change twice in a second, and then the client would join parts of two versions (RFC 9110, sections 8.8.2.2 and 13.1.5).
 */
export function allowsRange(header: string | undefined, file: Pick<FileEntry, 'revision'>): boolean {
  return header === undefined || header.trim() === entityTag(file)
}

/** The entity tags of a list, with their quotes, and `W/` before weak ones. */
export function entityTags(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}

function weak(tag: string): string {
  return tag.replace(/^W\//, '')
}

/** Whether a file was changed after a date of HTTP. It was not after what is no such date. */
export function isAfter(modified: Date, header: string | undefined): boolean {
  return wholeSeconds(modified) > parseDate(header)
}

/** The time of a date in one of HTTP's three forms (RFC 9110, section 5.6.7), NaN for anything else. */
function parseDate(header = ''): number {
  const value = header.trim()
  if (/^[A-Z][a-z]{2,8}, .* GMT$/.test(value)) return Date.parse(value)
  // The form of C's `asctime` doesn't name the time zone, which is GMT too.
  return /^[A-Z][a-z]{2} [A-Z][a-z]{2} .* \d{4}$/.test(value) ? Date.parse(`${value} GMT`) : Number.NaN
}

/** HTTP's dates have no fractions of seconds. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}
