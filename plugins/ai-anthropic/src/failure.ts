import type { APIError } from '@anthropic-ai/sdk'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ModelServer } from '@nodekeep/plugin-sdk/model-servers'

/** HTTP statuses of the API's error types: an error within a reply has a type only (Anthropic's page "Errors"). */
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

/** Tells whether a value is one of the API's error types. */
export function isErrorType(type: unknown): boolean {
  return typeof type === 'string' && Object.hasOwn(statuses, type)
}

/**
 * Turns an error of the SDK into an error of the contract. Texts of the API and unparsable events stay out of the log,
 * because they may quote the chat or the key.
 *
 * @param name the name of the provider
 */
export function providerError(
  server: ModelServer,
  name: string,
  thrown: unknown,
  model?: string,
): NodekeepError {
  if (thrown instanceof SyntaxError) {
    return server.error({ cause: new Error('An event of the answer is not valid JSON.') })
  }
  if (!isApiError(thrown)) return server.error({ cause: thrown })
  const status = statusOf(thrown)
  if (status === undefined) return server.error({ cause: thrown.cause ?? thrown })
  const { type, requestID, errorCode, apiMessage, headers, error } = thrown
  const kind = [errorCode, type].find(isWord) ?? 'no type'
  const cause = new Error(`status ${status}, ${kind}, request ${isWord(requestID) ? requestID : 'unknown'}`)
  const said = typeof apiMessage === 'string' ? apiMessage : ''
  if (errorCode?.endsWith('spend_limit_reached')) {
    const message = `The AI provider "${name}" has reached its spending limit. The owner of the node must raise it.`
    return new NodekeepError('UPSTREAM_ERROR', message, { cause, permanent: true })
  }
  return server.error({
    status,
    // Gateways have other forms of errors. The text is not shown, but it may name a model.
    message: said === '' && status === 404 ? JSON.stringify(error ?? '') : said,
    retryAfter: headers?.get('retry-after') ?? null,
    cause,
    ...(model !== undefined && { model }),
  })
}

function statusOf({ status, type, name, error }: APIError): number | undefined {
  if (status !== undefined) return status
  if (name === 'APIConnectionTimeoutError') return 504
  // An error within a reply has a body. A failed connection has none.
  return error === undefined ? undefined : (statuses[type ?? ''] ?? 500)
}

/** Tells whether a value is a name, such as `server_error`, rather than a sentence. */
function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.-]{1,64}$/.test(value)
}

/** Recognizes the SDK's error by its fields, because its class is loaded late. */
function isApiError(thrown: unknown): thrown is APIError {
  return thrown instanceof Error && 'apiMessage' in thrown && 'requestID' in thrown
}
