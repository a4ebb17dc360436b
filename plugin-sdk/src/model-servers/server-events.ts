import { readWithin } from './bounded-body.ts'
import { type ByteStream, limitEvents } from './bounded-stream.ts'

/** One server-sent event. */
export interface ServerEvent {
  /** The type of the event. It is `message` if the server names none. */
  readonly event: string
  /** The data, which is not blank. Several lines of data are joined with line feeds. */
  readonly data: string
  /** Whether the server sent one JSON object instead of a stream of events. `data` is that object. */
  readonly isWholeBody: boolean
}

/**
 * Reads a stream of server-sent events (WHATWG HTML, section 9.2), while no event is longer than allowed. Comments, ids
 * and events without data are left out, and so are those with blank data, which servers send to keep a connection open.
 * Lines end with a line feed, or with a carriage return and a line feed. An event that breaks off at the end of the stream
 * is yielded as it is.
 *
 * Some servers answer the request for a stream with one JSON object: an error, or the whole reply. Such an object is
 * yielded as one event.
 *
 * @throws Error when an event or the object is longer, and any error of the stream itself
 * @example for await (const { data } of readEvents(response.body ?? [], 1024 * 1024)) read(JSON.parse(data))
 */
export async function* readEvents(body: ByteStream, maxBytes: number): AsyncGenerator<ServerEvent> {
  const chunks = chunksOf(body)
  try {
    const beginning = await readBeginning(chunks, maxBytes)
    const bytes = joined(beginning, chunks)
    if (beginsObject.test(beginning.toString('latin1'))) {
      yield { event: 'message', data: String(await readWithin(bytes, maxBytes)), isWholeBody: true }
    } else yield* eventsIn(bytes, maxBytes)
  } finally {
    await chunks.return(undefined)
  }
}

const beginsObject = /^\s*\{/

async function* chunksOf(body: ByteStream): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield chunk
}

/** Reads chunks up to the first one that is not blank. */
async function readBeginning(chunks: AsyncGenerator<Uint8Array>, maxBytes: number): Promise<Buffer> {
  const read: Uint8Array[] = []
  for (let size = 0; size <= maxBytes; ) {
    const { done, value } = await chunks.next()
    if (done) break
    read.push(value)
    size += value.byteLength
    if (value.some((byte) => byte > 32)) break
  }
  return Buffer.concat(read)
}

async function* joined(first: Buffer, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}

async function* eventsIn(body: ByteStream, maxBytes: number): AsyncGenerator<ServerEvent> {
  for await (const events of limitEvents(body, maxBytes)) {
    let event = ''
    let data: string | undefined
    const text = events.toString()
    for (let start = 0; start <= text.length; ) {
      const end = text.indexOf('\n', start)
      const isLast = end < 0
      const line = withoutReturn(text.slice(start, isLast ? text.length : end))
      start = isLast ? text.length + 1 : end + 1
      const [field, value] = fieldOf(line)
      if (field === 'event') event = value
      else if (field === 'data') data = data === undefined ? value : `${data}\n${value}`
      if (line !== '' && !isLast) continue
      if (data?.trim()) yield { event: event === '' ? 'message' : event, data, isWholeBody: false }
      event = ''
      data = undefined
    }
  }
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

function fieldOf(line: string): [field: string, value: string] {
  const colon = line.indexOf(':')
  if (colon < 0) return [line, '']
  // A stream may begin with a byte order mark, and one blank after the colon is no part of the value.
  const field = line.slice(0, colon).replace(/^\ufeff/, '')
  return [field, line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)]
}
