import { type ErrorCode, isNodekeepError, NodekeepError } from '../errors.ts'

/** How the server of a model failed. */
export interface ModelServerFailure {
  /** HTTP status of the answer. Leave it out if there was no answer. */
  readonly status?: number
  /** The server's own message. Users see it only if the failure is about the request. */
  readonly message?: string
  /** The `retry-after` of the answer: seconds, or a date (RFC 9110, section 10.2.3). */
  readonly retryAfter?: string | null
  /** The underlying error, for the log. Without a status, a NodekeepError here is returned unchanged. */
  readonly cause?: unknown
  /**
   * The configuration key of the server's address, such as `ai-acme.url`. With it, a redirect (3xx) and a 404 without a
   * word about a model become errors that tell the owner to correct this key.
   */
  readonly setting?: string
  /** The requested model. Leave it out if the request was for the list of models. */
  readonly model?: string
}

const maxMessageLength = 500

/** Words that 404 answers use for a model. Azure says deployment, and OpenRouter endpoints. */
const modelWords = /model|deployment|endpoints/i

/**
 * Makes the error that an AI provider throws from a failure of its server.
 *
 * @param provider the name of the provider, as people know it
 * @example throw modelServerError('acme', { status: response.status, retryAfter: response.headers.get('retry-after') })
 */
export function modelServerError(provider: string, failure: ModelServerFailure): NodekeepError {
  const { status, message = '', cause } = failure
  if (status === undefined && isNodekeepError(cause)) return cause
  const said = message.replaceAll(/\s+/g, ' ').trim().slice(0, maxMessageLength)
  const make = (code: ErrorCode, text: string, permanent = false) =>
    new NodekeepError(code, text, { cause, permanent, headers: retryHeaders(failure) })
  const addressFault = addressFaultOf(provider, failure)
  if (addressFault !== null) return make('UPSTREAM_ERROR', addressFault, true)
  switch (status) {
    case undefined:
      return make(
        'UPSTREAM_ERROR',
        `The AI provider "${provider}" cannot be reached, or closed the connection.`,
      )
    case 401:
    case 402:
    case 403:
      // Servers repeat a part of the key in this message, so it is not shown.
      return make(
        'UPSTREAM_ERROR',
        `The AI provider "${provider}" does not accept this node's key. The owner of the node must set another one.`,
        true,
      )
    case 404:
      return make('NOT_FOUND', `The AI provider "${provider}" does not have this model.`, true)
    case 408:
    case 504:
      return make('UPSTREAM_TIMEOUT', `The AI provider "${provider}" took too long.`)
    case 429:
      return make('TOO_MANY_REQUESTS', `The AI provider "${provider}" is too busy. Try again later.`)
  }
  if (status >= 400 && status < 500) {
    const reason = said === '' ? 'It gives no reason.' : `It says: ${said}`
    return make('VALIDATION_ERROR', `The AI provider "${provider}" refuses the request. ${reason}`, true)
  }
  return make('UPSTREAM_ERROR', `The AI provider "${provider}" failed. Try again later.`)
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
