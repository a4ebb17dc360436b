import { readWithin } from '@nodekeep/plugin-sdk'
import { errorText, limitLines, modelServerError } from '@nodekeep/plugin-sdk/model-servers'
import { type FailedCall, refusalError, saidIn, withoutQuotes } from './failure.ts'

const maxLineBytes = 4 * 1024 * 1024
const maxListBytes = 8 * 1024 * 1024

/**
 * One call of the server, which gives the SDK its `fetch`. With the usual one, the SDK could not end a call before its
 * answer begins, would write lines that are not JSON to the console and go on, hold lines of any length in memory, and
 * drop `retry-after`.
 */
export class Call {
  readonly #call: FailedCall
  readonly #signal: AbortSignal
  readonly #ending = new AbortController()
  #lines: AsyncGenerator<string> | undefined
  #address: string | undefined

  constructor(call: FailedCall, signal: AbortSignal) {
    this.#call = call
    this.#signal = AbortSignal.any([signal, this.#ending.signal])
  }

  /** The `fetch` for the SDK. Throws NodekeepError for an error answer. */
  readonly fetch: typeof fetch = async (input, init = {}) => {
    const { method, body } = init
    this.#address = String(input)
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
      // The SDK takes an `error` of null for an error.
      yield Buffer.from(`${error === null ? JSON.stringify({ ...piece, error: undefined }) : line}\n`)
    }
  }

  /** The requested address. */
  get address(): string | undefined {
    return this.#address
  }

  /** Reads the end of the answer, where the SDK stops before it, so that the connection can be used again. */
  async finish(): Promise<void> {
    // The reply is complete, so a later error changes nothing.
    await this.#lines?.next().catch(() => {})
  }

  /** Ends the call at the server. Does nothing if it has ended. */
  end(): void {
    this.#ending.abort()
  }
}

/** Reads a line of a reply. A line with `error` is a failure within the reply (Ollama's page "Errors"). */
function readLine(line: string): { readonly error?: unknown } {
  let piece: unknown
  try {
    piece = JSON.parse(line)
  } catch {
    // Refused below, like any value that is no object. The text itself stays out of the log.
  }
  if (typeof piece !== 'object' || piece === null)
    throw new Error('A line of the answer is not a JSON object.')
  return piece
}
