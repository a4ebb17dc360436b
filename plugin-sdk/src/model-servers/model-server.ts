import type { ChatDelta, ChatRequest } from '../contracts/ai.ts'
import type { NodekeepError } from '../errors.ts'
import { errorText, readWithin } from './bounded-body.ts'
import { type ByteStream, readJsonLines } from './bounded-stream.ts'
import { cancellableReply } from './cancellable-reply.ts'
import { type ModelServerFailure, modelServerError } from './model-server-error.ts'
import { readEvents, type ServerEvent } from './server-events.ts'
import { statusOfError } from './status-of-error.ts'

const defaultMaxBytes = 4 * 1024 * 1024

/** Options of `modelServer`. */
export interface ModelServerOptions {
  /** The name of the provider, as people know it. */
  readonly name: string
  /** The address of the server, without a slash at its end. `apiEndpoint` checks an address of the configuration. */
  readonly url: string
  /** The configuration key of the address, such as `ai-acme.url`. */
  readonly setting: string
  /** The key that `headers` contain. It is removed from all errors, because servers repeat it. */
  readonly key?: string
  /** Headers of each request, such as the one with the key. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A request to the server of a model. */
export interface ModelServerRequest {
  /** Ends the request at any time. */
  readonly signal: AbortSignal
  /** The body of a `POST`, which is sent as JSON. Without it, the request is a `GET`. */
  readonly body?: unknown
  /** The requested model. With it, a 404 may be about the model, and not about the address. */
  readonly model?: string
  /** The longest answer of `json`, event of `events` or line of `lines`, in bytes. Default: 4 MiB. */
  readonly maxBytes?: number
}

/** The server of an AI provider. Paths begin with a slash, and are added to the address of the server. */
export interface ModelServer {
  /**
   * Requests, parses and returns JSON.
   *
   * @throws NodekeepError as the contract of AI providers requires, and the reason of the signal
   */
  json<T>(path: string, request: ModelServerRequest): Promise<T>
  /** Yields a JSON value of each line. Throws as `json` does, but a line with an error is a value like others. */
  lines<T>(path: string, request: ModelServerRequest): AsyncGenerator<T>
  /**
   * Yields server-sent events, as `readEvents` does. An answer of one JSON object with an `error` is an error, whose reason
   * people see. Throws as `json` does.
   */
  events(path: string, request: ModelServerRequest): AsyncGenerator<ServerEvent>
  /**
   * A `fetch` for a client library, with an address or a path. It sends no headers but those of the options and of `init`,
   * follows no redirect, and bounds what a library reads as a whole: the answer to a `GET`, and errors. A page of HTML in
   * place of an answer becomes a 404 without a body. It throws what `fetch` throws.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>
  /** Makes the error that the provider throws, from a status or a cause, with the options of the server. */
  error(failure: ModelServerFailure): NodekeepError
  /**
   * Makes the result of `AiProvider.chat` from a generator, as `cancellableReply` does. Everything else than a NodekeepError
   * that the generator throws becomes one, and so does an end without `finish`.
   */
  reply(
    request: Pick<ChatRequest, 'model'>,
    signal: AbortSignal,
    read: (signal: AbortSignal) => AsyncGenerator<ChatDelta>,
  ): AsyncIterable<ChatDelta>
}

/**
 * The connection of an AI provider to its server, over HTTP. The server is not trusted: everything that it sends is
 * bounded, and each failure is the error that the contract requires.
 *
 * @example
 * const server = modelServer({ name: 'acme', url: config.url, setting: `${id}.url` })
 * for await (const piece of server.lines<AcmePiece>('/chat', { body, model, signal })) read(piece)
 */
export function modelServer(options: ModelServerOptions): ModelServer {
  const { name, url, setting, key = '', headers = {} } = options
  const error = (failure: ModelServerFailure) =>
    modelServerError(name, { key, address: url, setting, ...failure })

  async function ask(path: string, { signal, body, model }: ModelServerRequest): Promise<ByteStream> {
    const init: RequestInit = { headers: { accept: 'application/json' }, signal }
    if (body !== undefined) {
      init.method = 'POST'
      init.body = JSON.stringify(body)
      init.headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
    }
    const answer = await guardedFetch(url + path, init, headers)
    if (answer.ok) return answer.body ?? []
    const retryAfter = answer.headers.get('retry-after')
    const said = saidIn(await answer.text())
    throw error({ ...said, status: answer.status, retryAfter, ...(model !== undefined && { model }) })
  }

  /** Returns a JSON value, unless it is an object with an error. */
  function parse(text: string): unknown {
    const value = valueIn(text)
    if (value === undefined) throw new Error('The answer is not valid JSON.')
    if (Object(value).error) throw error({ ...saidIn(text), status: statusOfError(Object(value).error) })
    return value
  }

  const failure = (cause: unknown, signal: AbortSignal, model?: string) =>
    signal.aborted ? signal.reason : error({ cause, ...(model !== undefined && { model }) })

  return {
    error,
    async fetch(input, init) {
      const isPath = typeof input === 'string' && input.startsWith('/')
      const answer = await guardedFetch(isPath ? url + input : input, init, headers)
      const { ok, status, body } = answer
      if (!ok || body === null || (init?.method ?? 'GET') !== 'GET') return answer
      return new Response(await readWithin(body, maxListBytes), { status, headers: answer.headers })
    },
    async json<T>(path: string, request: ModelServerRequest): Promise<T> {
      try {
        const { maxBytes = defaultMaxBytes } = request
        return parse(String(await readWithin(await ask(path, request), maxBytes))) as T
      } catch (cause) {
        throw failure(cause, request.signal)
      }
    },
    async *lines<T>(path: string, request: ModelServerRequest): AsyncGenerator<T> {
      try {
        const { maxBytes = defaultMaxBytes } = request
        for await (const value of readJsonLines<T>(await ask(path, request), maxBytes)) yield value
      } catch (cause) {
        throw failure(cause, request.signal)
      }
    },
    async *events(path, request) {
      try {
        const { maxBytes = defaultMaxBytes } = request
        for await (const event of readEvents(await ask(path, request), maxBytes)) {
          if (event.isWholeBody) parse(event.data)
          yield event
        }
      } catch (cause) {
        throw failure(cause, request.signal)
      }
    },
    reply({ model }, signal, read) {
      const deltas = cancellableReply(signal, read)
      const fail = (cause: unknown) => {
        throw failure(cause, signal, model)
      }
      return {
        [Symbol.asyncIterator]() {
          const iterator = deltas[Symbol.asyncIterator]()
          let mayEnd = false
          return {
            next: () =>
              iterator.next().then((step) => {
                if (step.done && !mayEnd) fail(new Error('The reply ended without "finish".'))
                mayEnd ||= step.done !== true && step.value.type === 'finish'
                return step
              }, fail),
            async return() {
              mayEnd = true
              await iterator.return?.()
              return { done: true, value: undefined }
            },
          }
        },
      }
    },
  }
}

const maxListBytes = 8 * 1024 * 1024

/** Sends a request with these headers, and returns its answer. The body of an error is bounded. */
async function guardedFetch(
  input: string | URL | Request,
  init: RequestInit | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const sent = new Headers(init?.headers)
  const own = { 'accept-encoding': 'identity', 'user-agent': 'Nodekeep', ...headers }
  for (const [name, value] of Object.entries(own)) sent.set(name, value)
  const answer = await fetch(input, { ...init, headers: sent, redirect: 'manual' })
  const { ok, status, body } = answer
  // A login page, or the page of another server.
  if (ok && /^text\/html\b/i.test(answer.headers.get('content-type') ?? '')) {
    await body?.cancel()
    return new Response(null, { status: 404 })
  }
  return ok ? answer : new Response((await errorText(body)) || null, { status, headers: answer.headers })
}

/** Returns the message and the code of an error answer, in the forms that most servers have. A page has no message. */
function saidIn(text: string): { message: string; code?: string } {
  const value = valueIn(text)
  if (value === undefined) return { message: /^\s*</.test(text) ? '' : text }
  const error: unknown = Object(value).error ?? value
  if (typeof error === 'string') return { message: error }
  const { message, detail, code, type } = Object(error) as Readonly<Record<string, unknown>>
  const said = message ?? detail
  return {
    message: typeof said === 'string' ? said : text,
    ...(typeof code === 'string' ? { code } : typeof type === 'string' && { code: type }),
  }
}

/** Parses JSON. Returns `undefined` for another text. */
function valueIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
