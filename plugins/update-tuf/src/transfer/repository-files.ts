import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { type Agent, get, Agent as HttpAgent } from 'node:http'
import { get as getTls, Agent as TlsAgent } from 'node:https'
import type { Readable } from 'node:stream'
import { type Pace, tooSlow, withPace } from './pace.ts'
import { TransferFailure } from './transfer-failure.ts'

interface RepositoryFilesOptions {
  /** The header `user-agent`. */
  readonly userAgent: string
  readonly pace: Pace
}

/**
 * Reads files of a repository, from a web server or a folder. The bytes come as the server stores them. A redirect is a failure: the
 * server must not choose which machines the node talks to.
 *
 * Errors are TransferFailures, and the reason of the signal.
 */
export class RepositoryFiles implements Disposable {
  readonly #options: RepositoryFilesOptions
  /** Made at its first use. */
  #agent: Agent | undefined

  constructor(options: RepositoryFilesOptions) {
    this.#options = options
  }

  /** @param maxBytes the length that a whole file cannot exceed */
  async *read(url: URL, maxBytes: number, signal: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    try {
      const stream = await (url.protocol === 'file:' ? openFile(url, signal) : this.#request(url, signal))
      yield* withPace(stream, maxBytes, this.#options.pace)
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof TransferFailure ? error : unreadable(error)
    }
  }

  [Symbol.dispose](): void {
    this.#agent?.destroy()
  }

  async #request(url: URL, signal: AbortSignal): Promise<Readable> {
    const isTls = url.protocol === 'https:'
    this.#agent ??= isTls ? new TlsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
    const { userAgent, pace } = this.#options
    const headers = { 'user-agent': userAgent, 'accept-encoding': 'identity' }
    const request = (isTls ? getTls : get)(url, { agent: this.#agent, headers, signal })
    // Without a listener, Node drops the connection after such an answer, and tells nobody.
    request.on('upgrade', (response) => request.emit('response', response))
    const late = setTimeout(() => request.destroy(tooSlow()), pace.idleMs)
    try {
      const [response] = await once(request, 'response')
      // From here on, the response tells of failures.
      request.on('error', () => {})
      const problem = problemOf(response.statusCode, response.headers.location)
      if (problem === null) return response
      response.destroy()
      throw problem
    } finally {
      clearTimeout(late)
    }
  }
}

function problemOf(status: number, location: string | undefined): TransferFailure | null {
  if (status === 200) return null
  if (status === 404 || status === 403) return new TransferFailure('lacks a file', { isMissing: true })
  if (location !== undefined)
    return new TransferFailure(
      'leads to another address. Nobody follows it there: write the final address into the configuration',
    )
  return new TransferFailure(`answers with the status ${status}`)
}

async function openFile(url: URL, signal: AbortSignal): Promise<Readable> {
  const file = await open(url)
  // A folder opens, and fails to be read. A pipe would block a thread, and has no length.
  if ((await file.stat()).isFile()) return file.createReadStream({ signal })
  await file.close()
  throw new TransferFailure('lacks a file', { isMissing: true })
}

function unreadable(error: unknown): TransferFailure {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR')
    return new TransferFailure('lacks a file', { isMissing: true, cause: error })
  return new TransferFailure(`cannot be reached (${code ?? message})`, { cause: error })
}
