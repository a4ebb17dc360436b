/** A part of a file: first and last byte, both inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Parses a `range` header (RFC 9110, section 14.1.2) for a file with a number of bytes. One range of bytes is served. Several ranges, other units
 * and malformed headers get the whole file, as the RFC allows.
 *
 * @returns `null` for the whole file, `unsatisfiable` when no byte of the range is within the file
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=[ \t]*(?:(\d+)-(\d*)|-(\d+))[ \t]*$/i.exec(header ?? '')
  if (match === null) return null
  const [, first, last, suffix] = match
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size)
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 }
  }
  const start = Number(first)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < start) return null
  return start >= size ? 'unsatisfiable' : { start, end }
}
