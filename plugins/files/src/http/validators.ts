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
  return isDate(since) && !isAfter(file.modified, since) ? 'not-modified' : 'proceed'
}

/** Whether a range may be served: `if-range` is missing, or names exactly this version (RFC 9110, section 13.1.5). */
export function allowsRange(header: string | undefined, file: Validated): boolean {
  if (header === undefined) return true
  const value = header.trim()
  if (value.endsWith('"')) return value === entityTag(file)
  return isDate(value) && Date.parse(value) === wholeSeconds(file.modified)
}

/** The entity tags of a list, with their quotes, and `W/` before weak ones. */
export function entityTags(list: string): string[] {
  return list.match(/(?:W\/)?"[^"]*"/g) ?? []
}

function weak(tag: string): string {
  return tag.replace(/^W\//, '')
}

function isDate(header: string | undefined): header is string {
  return header !== undefined && !Number.isNaN(Date.parse(header))
}

function isAfter(modified: Date, header: string | undefined): boolean {
  return isDate(header) && wholeSeconds(modified) > Date.parse(header)
}

/** HTTP's dates have no fractions of seconds. */
function wholeSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000) * 1000
}
