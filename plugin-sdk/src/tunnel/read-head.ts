import type { Duplex } from 'node:stream'

/**
 * Looks for the head of a stream in the bytes that have arrived so far.
 *
 * @returns the value of the head, and how many bytes of it nobody else shall read; `null` if more bytes are needed
 * @throws Error if the bytes cannot be a head
 */
export type HeadParser<T> = (bytes: Buffer) => { readonly value: T; readonly length: number } | null

/** The limits of a head. */
export interface HeadLimits {
  /** Maximum length of the head, in bytes. */
  readonly maxBytes: number
  /** Milliseconds for the whole head to arrive. Without it, the head may come at any time. */
  readonly withinMs?: number
}

/**
 * Reads the head of a stream, in however many pieces it comes. The bytes after it stay in the stream: nothing is lost or read
 * twice. Nobody else may read meanwhile. After a failure, destroy the stream.
 *
 * @throws Error with a sentence for the log, if the head is too long, too late, cut short, or refused by the parser
 */
export function readHead<T>(
  stream: Duplex,
  parse: HeadParser<T>,
  { maxBytes, withinMs }: HeadLimits,
): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  let bytes: Buffer = Buffer.alloc(0)
  const fail = (error: Error) => {
    stopReading()
    reject(error)
  }
  const read = () => {
    try {
      for (let piece = stream.read(); piece !== null; piece = stream.read()) {
        bytes = bytes.length === 0 ? piece : Buffer.concat([bytes, piece])
        const head = parse(bytes)
        if (head !== null && head.length <= maxBytes) {
          stopReading()
          if (head.length < bytes.length) stream.unshift(bytes.subarray(head.length))
          resolve(head.value)
          return
        }
        if (head !== null || bytes.length >= maxBytes) {
          fail(new Error(`The connection did not begin as it should within ${maxBytes} bytes.`))
          return
        }
      }
    } catch (error) {
      fail(error as Error)
    }
  }
  const closed = () => fail(new Error('The connection was closed before it had begun.'))
  const late = () => fail(new Error(`The connection said nothing useful for ${(withinMs ?? 0) / 1000} s.`))
  const timer = withinMs === undefined ? undefined : setTimeout(late, withinMs)
  const stopReading = () => {
    clearTimeout(timer)
    stream.off('readable', read).off('end', closed).off('close', closed).off('error', fail)
  }
  stream.on('readable', read).on('end', closed).on('close', closed).on('error', fail)
  if (stream.destroyed || stream.readableEnded) closed()
  return promise
}

/** Parses the first line of a stream. The value is the line without its line feed, and the line is consumed. */
export const headLine: HeadParser<string> = (bytes) => {
  const end = bytes.indexOf('\n')
  return end === -1 ? null : { value: bytes.toString('utf8', 0, end), length: end + 1 }
}
