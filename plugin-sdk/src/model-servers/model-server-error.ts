import { type ErrorCode, isNodekeepError, NodekeepError } from '../errors.ts'

/** How the server of a model failed. */
export interface ModelServerFailure {
  /** HTTP status of its answer; none when there was no answer. */
  readonly status?: number
  /** What the server says about it, for people. Only shown where it is about the request. */
  readonly message?: string
  /** The `retry-after` of its answer: seconds, or a date as HTTP writes it (RFC 9110, section 10.2.3). */
  readonly retryAfter?: string | null
  /** The underlying failure, for the log. One that is a Nodekeep error already is the error, where there is no status. */
  readonly cause?: unknown
  /**
   * The key of the configuration that has the server's address, such as `ai-acme.url`. With it, a redirect (3xx) and a
   * 404 whose `message` says nothing of a model are the address's fault, and the owner is told so.
   */
  readonly setting?: string
  /** The model that was asked for; none where the list of models was. */
  readonly model?: string
}

const longestMessage = 500

/** Azure calls a model a deployment, and OpenRouter what runs it its endpoints. */
const ofModel = /model|deployment|endpoints/i

/**
 * Turns the failure of a model's server into the error that an AI provider throws.
 *
 * @param provider the name of the provider, as people know it
 * @example throw modelServerError('acme', { status: response.status, retryAfter: response.headers.get('retry-after') })
 */
export function modelServerError(provider: string, failure: ModelServerFailure): NodekeepError {
  const { status, message = '', cause } = failure
  if (status === undefined && isNodekeepError(cause)) return cause
  const said = message.replaceAll(/\s+/g, ' ').trim().slice(0, longestMessage)
  const make = (code: ErrorCode, text: string, permanent = false) =>
    new NodekeepError(code, text, { cause, permanent, headers: retryHeaders(failure) })
  const wrong = wrongAddress(provider, failure)
  if (wrong !== null) return make('UPSTREAM_ERROR', wrong, true)
  switch (status) {
    case undefined:
      return make('UPSTREAM_ERROR', `The AI provider "${provider}" cannot be reached, or broke off.`)
    case 401:
    case 402:
    case 403:
      // Servers repeat a part of the key here.
      return make(
        'UPSTREAM_ERROR',
        `The AI provider "${provider}" does not accept this node's key. Its owner has to set another one.`,
        true,
      )
    case 404:
      return make('NOT_FOUND', `The AI provider "${provider}" does not have this model.`, true)
    case 408:
    case 504:
      return make('UPSTREAM_TIMEOUT', `The AI provider "${provider}" took too long.`)
    case 429:
      return make('TOO_MANY_REQUESTS', `The AI provider "${provider}" has too much to do. Try again later.`)
  }
  if (status >= 400 && status < 500) {
    const reason = said === '' ? 'It gives no reason.' : `It says: ${said}`
    return make('VALIDATION_ERROR', `The AI provider "${provider}" refuses the request. ${reason}`, true)
  }
  return make('UPSTREAM_ERROR', `The AI provider "${provider}" failed. Try again later.`)
}

/** What to tell the owner of an address at which there is no API; `null` where that is not what happened. */
function wrongAddress(
  provider: string,
  { status, setting, model, message = '' }: ModelServerFailure,
): string | null {
  if (status === undefined || setting === undefined) return null
  if (status >= 300 && status < 400) {
    return `The AI provider "${provider}" has moved. This node's owner has to correct ${setting}.`
  }
  if (status !== 404) return null
  if (model !== undefined && (message.includes(model) || ofModel.test(message))) return null
  return `The AI provider "${provider}" has no API at its address. This node's owner has to check ${setting}.`
}

function retryHeaders({ retryAfter }: ModelServerFailure): Record<string, string> {
  if (retryAfter === undefined || retryAfter === null || retryAfter.trim() === '') return {}
  const seconds = Number(retryAfter)
  const wait = Number.isNaN(seconds) ? (Date.parse(retryAfter) - Date.now()) / 1000 : seconds
  return Number.isFinite(wait) ? { 'retry-after': String(Math.max(0, Math.ceil(wait))) } : {}
}
