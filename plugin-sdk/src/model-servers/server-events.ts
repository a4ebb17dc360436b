import { type ByteStream, limitEvents } from './bounded-stream.ts'

/** One server-sent event. */
export interface ServerEvent {
  /** The type of the event. It is `message` if the server names none. */
  readonly event: string
  /** The data. Several lines of data are joined with line feeds. */
  readonly data: string
}

/**
 * Reads a stream of server-sent events (WHATWG HTML, section 9.2), while no event is longer than allowed. Comments, ids
 * and events without data are left out. Lines end with a line feed, or with a carriage return and a line feed. An event
 * that breaks off at the end of the stream is yielded as it is.
 *
 * @throws Error when an event is longer, and any error of the stream itself
 * @example for await (const { data } of readEvents(response.body ?? [], 1024 * 1024)) read(JSON.parse(data))
 */
export async function* readEvents(body: ByteStream, maxBytes: number): AsyncGenerator<ServerEvent> {
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
      if (data !== undefined) yield { event: event === '' ? 'message' : event, data }
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
