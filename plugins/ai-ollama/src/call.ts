import { errorText, limitLines, modelServerError, readWithin } from '@nodekeep/plugin-sdk'
import { type FailedCall, refusalError, saidIn, withoutQuotes } from './failure.ts'

const maxLineBytes = 4 * 1024 * 1024
const maxListBytes = 8 * 1024 * 1024
/** How long a connection may stay open after the end of its answer. */
const maxEndMs = 1000

/**
 * One call of the server. The SDK cannot end a call whose answer has not begun, goes on with what it cannot read, writes
 * that to the console, holds lines of any length, and drops when to try again. Its `fetch` sees to that here.
 */
export class Call {
  readonly #call: FailedCall
  readonly #signal: AbortSignal
  readonly #ending = new AbortController()
  #lines: AsyncGenerator<string> | undefined

  constructor(call: FailedCall, signal: AbortSignal) {
    this.#call = call
    this.#signal = AbortSignal.any([signal, this.#ending.signal])
  }

  /** For the SDK. Throws NodekeepError for an answer that is an error. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const { method, body } = init
    const response = await fetch(input, {
      ...(method && { method }),
      ...(body && { body }),
      headers: {
        accept: 'application/json',
        'user-agent': 'Nodekeep',
        ...(body && { 'content-type': 'application/json' }),
      },
      redirect: 'manual',
      signal: this.#signal,
    })
    const { ok, status, headers } = response
    if (!ok) {
      const said = await errorText(response.body)
      throw refusalError(this.#call, { status, said, retryAfter: headers.get('retry-after') })
    }
    const answer: AsyncIterable<Uint8Array> = response.body ?? ReadableStream.from([])
    if (method !== 'POST') return new Response(await readWithin(answer, maxListBytes), { headers })
    this.#lines = limitLines(answer, maxLineBytes)
    return new Response(ReadableStream.from(this.#pieces(this.#lines)), { headers })
  }

  async *#pieces(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
    for await (const line of lines) {
      const piece = readLine(line)
      const { error } = piece
      if (error !== undefined && error !== null) {
        const cause = new Error(withoutQuotes(saidIn(error)))
        throw modelServerError(this.#call.name, { status: 500, cause })
      }
      // The SDK takes an error that is none for one.
      yield Buffer.from(`${error === null ? JSON.stringify({ ...piece, error: undefined }) : line}\n`)
    }
  }

  /** Reads what comes after the last line, so that the connection can be used again. The SDK stops before. */
  async finish(): Promise<void> {
    const patience = setTimeout(() => this.end(), maxEndMs)
    try {
      while ((await this.#lines?.next())?.done === false);
    } catch {
      // After its end, nothing can happen to a reply.
    } finally {
      clearTimeout(patience)
    }
  }

  /** Ends the call at the server; nothing where it has ended. */
  end(): void {
    this.#ending.abort()
  }
}

/** Reads a line of a reply. What one with an `error` says is Ollama's way to fail in mid-reply (its page "Errors"). */
function readLine(line: string): { readonly error?: unknown } {
  let piece: unknown
  try {
    piece = JSON.parse(line)
  } catch {
    // Refused below, like all that is no object: without its text, which the log has no use for.
  }
  if (typeof piece !== 'object' || piece === null) throw new Error('A line of the answer is no JSON object.')
  return piece
}
