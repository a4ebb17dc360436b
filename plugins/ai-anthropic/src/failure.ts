import type { APIError } from '@anthropic-ai/sdk'
import { modelServerError, NodekeepError } from '@nodekeep/plugin-sdk'

/** HTTP statuses of the API's types of errors: in mid-reply, the type stands alone (Anthropic's page "Errors"). */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

/** Whose failure it is. */
export interface FailedCall {
  readonly name: string
  readonly section: string
  readonly key: string
  /** The model that was asked for; none where the list of models was. */
  readonly model?: string
}

/**
 * Turns what the SDK throws into the error of the contract. The API's own words stay out of the log, and so does what
 * does not parse: they may quote the chat, or the key.
 */
export function providerError({ name, section, key, model }: FailedCall, thrown: unknown): NodekeepError {
  if (thrown instanceof SyntaxError) {
    return modelServerError(name, { cause: new Error('A piece of the answer is no JSON.') })
  }
  if (!isApiError(thrown))
    return modelServerError(name, { ...(isLate(thrown) && { status: 504 }), cause: thrown })
  const status = statusOf(thrown)
  if (status === undefined) return modelServerError(name, { cause: thrown.cause ?? thrown })
  const { type, requestID, errorCode, apiMessage, headers, error } = thrown
  const kind = [errorCode, type].find(isWord) ?? 'no type'
  const cause = new Error(`status ${status}, ${kind}, request ${isWord(requestID) ? requestID : 'unknown'}`)
  const said = typeof apiMessage === 'string' ? apiMessage : ''
  if (errorCode?.endsWith('spend_limit_reached')) {
    const message = `The AI provider "${name}" has reached its spending limit. Its owner has to raise it.`
    return new NodekeepError('UPSTREAM_ERROR', message, { cause, permanent: true })
  }
  return modelServerError(name, {
    status,
    // Gateways have forms of their own, which are not shown but may speak of a model.
    message: said === '' && status === 404 ? JSON.stringify(error ?? '') : said.replaceAll(key, '[secret]'),
    retryAfter: headers?.get('retry-after') ?? null,
    cause,
    setting: `${section}.baseURL`,
    ...(model !== undefined && { model }),
  })
}

function statusOf({ status, type, name, error }: APIError): number | undefined {
  if (status !== undefined) return status
  if (name === 'APIConnectionTimeoutError') return 504
  // An event that tells of an error has a body, a connection that failed has none.
  return error === undefined ? undefined : (statuses[type ?? ''] ?? 500)
}

/** Whether it is a name, such as `server_error`, and no sentence. */
function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.-]{1,64}$/.test(value)
}

/** Whether a connection on which nothing came was given up; the SDK tells it only before the answer begins. */
function isLate(thrown: unknown): boolean {
  const { code } = ((thrown as Error | undefined)?.cause ?? {}) as { code?: unknown }
  return code === 'UND_ERR_BODY_TIMEOUT'
}

/** By what it holds: the SDK's class is only there once the SDK is. */
function isApiError(thrown: unknown): thrown is APIError {
  return thrown instanceof Error && 'apiMessage' in thrown && 'requestID' in thrown
}
