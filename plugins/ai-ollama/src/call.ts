import { limitLines, type ModelServer } from '@nodekeep/plugin-sdk/model-servers'
import { refusalError, saidIn, withoutQuotes } from './failure.ts'

const maxLineBytes = 4 * 1024 * 1024

/** The call of a provider. */
interface CallOptions {
  readonly server: ModelServer
  /** The name of the provider, for messages. */
  readonly name: string
  /** The requested model, unless the request is for the list of models. */
  readonly model?: string
}

/**
 * One call of the server, which gives the SDK its `fetch`. With the usual one, the SDK could not end a call before its
 * answer begins, would write lines that are not JSON to the console and go on, hold lines of any length in memory, and
 * drop `retry-after`.
 */
export class Call {
  readonly #options: CallOptions
  readonly #signal: AbortSignal
  readonly #ending = new AbortController()
  #lines: AsyncGenerator<string> | undefined
  #address: string | undefined

  constructor(options: CallOptions, signal: AbortSignal) {
    this.#options = options
    this.#signal = AbortSignal.any([signal, this.#ending.signal])
  }

  /** The `fetch` for the SDK. Throws NodekeepError for an error answer. */
  readonly fetch: typeof fetch = async (input, { method = 'GET', body = null } = {}) => {
    this.#address = String(input)
    const response = await this.#options.server.fetch(input, {
      method,
      body,
      headers: { accept: 'application/json', ...(body !== null && { 'content-type': 'application/json' }) },
      signal: this.#signal,
    })
    const { ok, status, headers } = response
    if (!ok) {
      const said = await response.text()
      throw refusalError(this.#options, { status, said, retryAfter: headers.get('retry-after') })
    }
    if (method !== 'POST') return response
    this.#lines = limitLines(response.body ?? [], maxLineBytes)
    return new Response(ReadableStream.from(this.#pieces(this.#lines)), { headers })
  }

  async *#pieces(lines: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
    for await (const line of lines) {
      const piece = readLine(line)
      const { error } = piece
      if (error !== undefined && error !== null) {
        const cause = new Error(withoutQuotes(saidIn(error)))
        throw this.#options.server.error({ status: 500, cause })
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
