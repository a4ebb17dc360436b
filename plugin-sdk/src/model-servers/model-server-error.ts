import type { AiFailureReason } from '../contracts/ai.ts'
import { type ErrorCode, isNodekeepError, NodekeepError } from '../errors.ts'

/** How the server of a model failed. */
export interface ModelServerFailure {
  /** HTTP status of the answer. Leave it out if there was no answer. */
  readonly status?: number
  /** The server's own message. Users see it only if the failure is about the request. */
  readonly message?: string
  /** The server's own word for the failure, such as `insufficient_quota`. */
  readonly code?: string
  /** The `retry-after` of the answer: seconds, or a date (RFC 9110, section 10.2.3). */
  readonly retryAfter?: string | null
  /** The underlying error, for the log. Without a status, a NodekeepError here is returned unchanged. */
  readonly cause?: unknown
  /** The key that was sent. It is removed from the message and from the cause: servers repeat keys in their errors. */
  readonly key?: string
  /** The address of the server. The message names its host if the server cannot be reached. */
  readonly address?: string
  /**
   * The configuration key of the server's address, such as `ai-acme.url`. With it, an unreachable server, a redirect (3xx)
   * and a 404 without a word about a model become errors that tell the owner to correct this key.
   */
  readonly setting?: string
  /** The requested model. Leave it out if the request was for the list of models. */
  readonly model?: string
}

const maxMessageLength = 500

/** Words that 404 answers use for a model. Azure says deployment, and OpenRouter endpoints. */
const modelWords = /model|deployment|endpoints/i

/** Words for an account without credit: those of OpenAI. */
const quotaCodes: ReadonlySet<string> = new Set(['insufficient_quota', 'billing_hard_limit_reached'])

/** Words for a conversation that is too long: those of OpenAI, llama.cpp, vLLM and Anthropic. */
const lengthWords = /context_length_exceeded|exceed_context_size|maximum context length|prompt is too long/i

/**
 * Makes the error that an AI provider throws from a failure of its server. `modelServer` makes it for its requests.
 *
 * @param provider the name of the provider, as people know it
 * @example throw modelServerError('acme', { status: response.status, retryAfter: response.headers.get('retry-after') })
 */
export function modelServerError(provider: string, failure: ModelServerFailure): NodekeepError {
  const { status, code = '', key = '' } = failure
  if (status === undefined && isNodekeepError(failure.cause)) return failure.cause
  const message = withoutKey(failure.message ?? '', key)
  const cause = causeWithoutKey(failure.cause, key)
  const make = (code: ErrorCode, text: string, permanent = false, reason?: AiFailureReason) =>
    new NodekeepError(code, text, {
      cause,
      permanent,
      headers: retryHeaders(failure),
      ...(reason && { reason }),
    })
  const tooLong = `The AI provider "${provider}" took too long.`
  const addressFault = addressFaultOf(provider, failure)
  if (addressFault !== null) return make('UPSTREAM_ERROR', addressFault, true)
  if (status === 402 || quotaCodes.has(code)) {
    const text = `The account of the AI provider "${provider}" has no credit left. The owner of the node must add credit there.`
    return make('UPSTREAM_ERROR', text, true, 'insufficient_quota')
  }
  switch (status) {
    case undefined:
      if (isTimeout(failure.cause)) return make('UPSTREAM_TIMEOUT', tooLong)
      return make('UPSTREAM_ERROR', connectionFault(provider, failure))
    case 401:
    case 403:
      // Servers repeat a part of the key in this message, so it is not shown.
      return make(
        'UPSTREAM_ERROR',
        `The AI provider "${provider}" does not accept this node's key. The owner of the node must set another one.`,
        true,
      )
    case 404:
      return make(
        'NOT_FOUND',
        `The AI provider "${provider}" does not have this model.`,
        true,
        'model_not_found',
      )
    case 408:
    case 504:
      return make('UPSTREAM_TIMEOUT', tooLong)
    case 429:
      return make('TOO_MANY_REQUESTS', `The AI provider "${provider}" is too busy. Try again later.`)
  }
  if (status >= 400 && status < 500) {
    const said = message.replaceAll(/\s+/g, ' ').trim().slice(0, maxMessageLength)
    const text = said === '' ? 'It gives no reason.' : `It says: ${said}`
    const isTooLong = lengthWords.test(code) || lengthWords.test(message)
    return make(
      'VALIDATION_ERROR',
      `The AI provider "${provider}" refuses the request. ${text}`,
      true,
      isTooLong ? 'context_length_exceeded' : undefined,
    )
  }
  return make('UPSTREAM_ERROR', `The AI provider "${provider}" failed. Try again later.`)
}

/** Returns the message for a server that gave no answer, or a broken one. */
function connectionFault(provider: string, { cause, address, setting }: ModelServerFailure): string {
  if (!cannotConnect(cause)) {
    return `The AI provider "${provider}" closed the connection, or its answer is malformed. Try again later.`
  }
  const host = address === undefined ? undefined : URL.parse(address)?.host
  const place = host === undefined ? '' : ` at ${host}`
  const action =
    setting === undefined
      ? 'Try again later.'
      : `The owner of the node must check that the server runs there, or correct ${setting}.`
  return `The AI provider "${provider}" cannot be reached${place}. ${action}`
}

const connectCalls: ReadonlySet<string | undefined> = new Set(['connect', 'getaddrinfo'])

/**
 * Tells whether a connection could not be made, by the codes of the system and of Node's HTTP client. `fetch` refuses some
 * ports ("port blocking" of the Fetch standard), with no more than a message.
 */
function cannotConnect(cause: unknown): boolean {
  return errorsIn(cause).some(({ syscall, code, message }) => {
    return connectCalls.has(syscall) || code === 'UND_ERR_CONNECT_TIMEOUT' || message === 'bad port'
  })
}

/** Tells whether a connection was silent for too long, by the codes of Node's HTTP client. */
function isTimeout(cause: unknown): boolean {
  return errorsIn(cause).some(
    ({ code }) => code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT',
  )
}

/** Causes that are looked through. A cause may be its own cause. */
const maxCauses = 10

/** Returns an error and its causes. A failed connection to several addresses has the first of its errors as cause. */
function errorsIn(cause: unknown): readonly NodeJS.ErrnoException[] {
  const found: Error[] = []
  for (let error = cause; error instanceof Error && found.length < maxCauses; ) {
    found.push(error)
    error = error instanceof AggregateError ? error.errors[0] : error.cause
  }
  return found
}

function withoutKey(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '[secret]')
}

/** Errors are logged with their causes, so one whose text repeats the key is replaced. */
function causeWithoutKey(cause: unknown, key: string): unknown {
  if (key === '' || !(cause instanceof Error)) return cause
  const repeats = errorsIn(cause).some(({ message, stack }) => `${message} ${stack}`.includes(key))
  return repeats ? new Error(withoutKey(cause.message, key)) : cause
}

/** Returns a message for the owner if the configured address has no API, otherwise `null`. */
function addressFaultOf(
  provider: string,
  { status, setting, model, message = '' }: ModelServerFailure,
): string | null {
  if (status === undefined || setting === undefined) return null
  if (status >= 300 && status < 400) {
    return `The AI provider "${provider}" has moved. The owner of the node must correct ${setting}.`
  }
  if (status !== 404) return null
  if (model !== undefined && (message.includes(model) || modelWords.test(message))) return null
  return `The AI provider "${provider}" has no API at its address. The owner of the node must check ${setting}.`
}

function retryHeaders({ retryAfter }: ModelServerFailure): Record<string, string> {
  if (retryAfter === undefined || retryAfter === null || retryAfter.trim() === '') return {}
  const seconds = Number(retryAfter)
  const wait = Number.isNaN(seconds) ? (Date.parse(retryAfter) - Date.now()) / 1000 : seconds
  return Number.isFinite(wait) ? { 'retry-after': String(Math.max(0, Math.ceil(wait))) } : {}
}
