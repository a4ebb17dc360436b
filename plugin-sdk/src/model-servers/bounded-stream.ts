import { setImmediate } from 'node:timers/promises'

/** The body of an answer, such as that of a `fetch`. */
export type ByteStream = AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/**
 * Passes a stream of server-sent events on (WHATWG HTML, section 9.2), while no event is longer than allowed. Parsers
 * of such streams, also those of the SDKs of model servers, gather an event of any length in memory.
 *
 * Each chunk of the result has whole events only, so a parser never gathers an event piece by piece. Events without
 * data or with blank data, such as comments, mean nothing to a reader and are left out where they come alone; they count as
 * one event, together with the event after them. In a whole stream, such bytes may outweigh the lines with data by
 * `maxBytes`: a server may send a comment now and then, but must not keep its reader busy with nothing else. An event that breaks off at the end of the stream is passed on as it is.
 *
 * @throws Error when an event is longer, and any error of the stream itself
 * @example for await (const chunk of limitEvents(response.body ?? [], 1024 * 1024)) parser.push(chunk)
 */
export function limitEvents(body: ByteStream, maxBytes: number): AsyncGenerator<Buffer> {
  return wholeUnits(body, { maxBytes, name: 'An event', lastEnd: lastEventEnd, contentBytes: dataBytes })
}

/**
 * Splits a stream of lines, such as JSON Lines, while no line is longer than allowed. Blanks around a line are removed,
 * and empty lines are left out; they count as one line, together with the line after them, and in a whole stream they may
 * outweigh the other lines by `maxBytes`. Bytes that are not UTF-8 become U+FFFD.
 *
 * @throws Error when a line is longer, and any error of the stream itself
 * @example for await (const line of limitLines(response.body ?? [], 1024 * 1024)) read(JSON.parse(line))
 */
export async function* limitLines(body: ByteStream, maxBytes: number): AsyncGenerator<string> {
  const unit = { maxBytes, name: 'A line', lastEnd: lastLineEnd, contentBytes: textBytes }
  for await (const lines of wholeUnits(body, unit)) {
    for (const line of lines.toString().split('\n')) {
      const text = line.trim()
      if (text !== '') yield text
    }
  }
}

/**
 * Reads a stream of JSON values, one in each line (JSON Lines, NDJSON), while no line is longer than allowed. Empty lines
 * are left out.
 *
 * @throws Error when a line is longer or is not valid JSON, and any error of the stream itself. The message does not quote
 * the line, which may be part of a chat.
 * @example for await (const piece of readJsonLines<AcmePiece>(response.body ?? [], 1024 * 1024)) read(piece)
 */
export async function* readJsonLines<T = unknown>(body: ByteStream, maxBytes: number): AsyncGenerator<T> {
  for await (const line of limitLines(body, maxBytes)) yield parseLine(line) as T
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new Error('A line of the answer is not valid JSON.')
  }
}

/** The parts of a stream: events or lines. */
interface Unit {
  readonly maxBytes: number
  /** For messages. */
  readonly name: string
  /** Returns the index after the last whole unit, or 0 if there is none. */
  readonly lastEnd: (bytes: Buffer) => number
  /** The number of bytes in lines that mean something to a reader. */
  readonly contentBytes: (units: Buffer) => number
}

/** Cuts a stream into chunks that end where a unit ends. Only the last chunk may end elsewhere. */
async function* wholeUnits(body: ByteStream, unit: Unit): AsyncGenerator<Buffer> {
  const { maxBytes, name, lastEnd, contentBytes } = unit
  let begun: Buffer[] = []
  /** Bytes since the last unit with content. */
  let size = 0
  /** Bytes of the stream without content, less those with content. */
  let excess = 0
  for await (const chunk of inTurns(body)) {
    const end = begun.length === 0 ? lastEnd(chunk) : endAcross(begun, chunk, lastEnd)
    if (end > 0) {
      const last = chunk.subarray(0, end)
      const units = begun.length === 0 ? last : Buffer.concat([...begun, last])
      begun = []
      const content = contentBytes(units)
      excess = Math.max(0, excess + units.length - 2 * content)
      if (content > 0) {
        if (excess > maxBytes) throw new Error('The answer has hardly any content.')
        size = 0
        yield units
      } else {
        size += last.length
      }
    }
    const rest = end > 0 ? chunk.subarray(end) : chunk
    if (rest.length > 0) begun.push(rest)
    size += rest.length
    if (size > maxBytes) throw new Error(`${name} of the answer is longer than ${maxBytes} bytes.`)
  }
  if (begun.length > 0) yield Buffer.concat(begun)
}

/**
 * Bytes that are read before the rest of the node gets a turn of the event loop. A server that floods would else hold up
 * everything, because its bytes are there at once, and what a reader skips costs time, too.
 */
const bytesPerTurn = 16 * 1024

async function* inTurns(body: ByteStream): AsyncGenerator<Buffer> {
  let left = bytesPerTurn
  for await (const bytes of body) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    for (let start = 0; start < chunk.length; ) {
      const part = chunk.subarray(start, start + left)
      yield part
      start += part.length
      left -= part.length
      if (left > 0) continue
      await setImmediate()
      left = bytesPerTurn
    }
  }
}

/** The end of an event may lie across two chunks, so the last two bytes before the chunk count, too. */
function endAcross(begun: readonly Buffer[], chunk: Buffer, lastEnd: (bytes: Buffer) => number): number {
  const tail = Buffer.concat(begun.slice(-2)).subarray(-2)
  return lastEnd(Buffer.concat([tail, chunk])) - tail.length
}

const emptyLine = Buffer.from('\n\n')
const emptyLineWithReturn = Buffer.from('\n\r\n')
const dataField = Buffer.from('data:')
const mark = Buffer.from('\ufeff')

/** Returns the index after the last empty line, or 0 if there is none. */
function lastEventEnd(bytes: Buffer): number {
  const plain = bytes.lastIndexOf(emptyLine)
  const withReturn = bytes.lastIndexOf(emptyLineWithReturn)
  return Math.max(plain < 0 ? 0 : plain + 2, withReturn < 0 ? 0 : withReturn + 3)
}

/** Returns the index after the last line feed, or 0 if there is none. */
function lastLineEnd(bytes: Buffer): number {
  return bytes.lastIndexOf(10) + 1
}

/** Counts the bytes of lines with more than white space. */
function textBytes(lines: Buffer): number {
  return sumOfLines(lines, (start, end) => hasText(lines, start, end))
}

/** Counts the bytes of lines with data that is not blank. */
function dataBytes(events: Buffer): number {
  // A stream may begin with a byte order mark.
  const begin = events.subarray(0, mark.length).equals(mark) ? mark.length : 0
  return sumOfLines(events, (start, end) => {
    const from = start === 0 ? begin : start
    return (
      end - from >= dataField.length &&
      events.compare(dataField, 0, dataField.length, from, from + dataField.length) === 0 &&
      hasText(events, from + dataField.length, end)
    )
  })
}

function hasText(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte !== 32 && (byte < 9 || byte > 13)) return true
  }
  return false
}

function sumOfLines(bytes: Buffer, counts: (start: number, end: number) => boolean): number {
  let sum = 0
  for (let start = 0; start < bytes.length; ) {
    const feed = bytes.indexOf(10, start)
    const end = feed < 0 ? bytes.length : feed + 1
    if (counts(start, end)) sum += end - start
    start = end
  }
  return sum
}
