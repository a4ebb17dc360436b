import type { ErrorBody, ErrorSerializer } from '@nodekeep/plugin-sdk'

/** Writes errors in OpenAI's form ("Error codes" of its API reference). */
export const serializeError: ErrorSerializer = (error) => ({
  contentType: 'application/json; charset=utf-8',
  body: errorJson(error),
})

/** Returns the JSON of an error. Its `code` is the node's. */
export function errorJson({ message, code }: Pick<ErrorBody, 'message' | 'code'>): string {
  return JSON.stringify({ error: { message, type: typeOf(code), param: null, code } })
}

function typeOf(code: ErrorBody['code']): string {
  switch (code) {
    case 'UNAUTHORIZED':
      return 'authentication_error'
    case 'FORBIDDEN':
      return 'permission_error'
    case 'TOO_MANY_REQUESTS':
      return 'rate_limit_error'
    case 'INTERNAL_ERROR':
    case 'UPSTREAM_ERROR':
    case 'UPSTREAM_TIMEOUT':
    case 'SERVICE_UNAVAILABLE':
    case 'INSUFFICIENT_STORAGE':
      return 'server_error'
    default:
      return 'invalid_request_error'
  }
}
