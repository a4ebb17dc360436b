import type { AiFailureReason, ErrorBody, ErrorCode, ErrorSerializer } from '@nodekeep/plugin-sdk'

/** An error of the node, with the reason that tells errors of one code apart. */
type NodeError = Pick<ErrorBody, 'message' | 'code'> & { readonly reason: string | null }

/** Writes errors in OpenAI's form ("Error codes" of its API reference). */
export const serializeError: ErrorSerializer = (error) => ({
  contentType: 'application/json; charset=utf-8',
  body: errorJson(error),
})

/** Returns the JSON of an error. Its `code` is OpenAI's where OpenAI has one, otherwise the node's. */
export function errorJson({ message, code, reason }: NodeError): string {
  const error = {
    message: code === 'UNAUTHORIZED' ? keyMessage : message,
    type: reason === 'insufficient_quota' ? reason : typeOf(code),
    param: reason === 'context_length_exceeded' ? 'messages' : null,
    code: reasons.has(reason) ? reason : (codes[code] ?? code),
  }
  return JSON.stringify({ error })
}

/** Programs show this message beside their field for an API key. They have no sign-in. */
const keyMessage =
  'The API key is missing or not valid. Create an API token on the node with "nodekeep token create --scope ai", and use it as the API key.'

/** Reasons that OpenAI has as codes. */
const reasons: ReadonlySet<string | null> = new Set<AiFailureReason>([
  'model_not_found',
  'context_length_exceeded',
  'insufficient_quota',
])

/** OpenAI's codes of errors that have no reason. */
const codes: Partial<Record<ErrorCode, string>> = {
  UNAUTHORIZED: 'invalid_api_key',
  TOO_MANY_REQUESTS: 'rate_limit_exceeded',
}

function typeOf(code: ErrorCode): string {
  switch (code) {
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
      // OpenAI has this type for wrong keys, too.
      return 'invalid_request_error'
  }
}
