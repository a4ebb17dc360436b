import { type ErrorBody, type ErrorCode, errorStatus, isNodekeepError } from '@nodekeep/plugin-sdk'
import type { SchemaError } from '../validation/ajv.ts'
import { describeProblems } from '../validation/schema-problems.ts'

/** An error in the form that leaves the node. */
export interface PublicError extends ErrorBody {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Whether the cause is a fault of the node that is not in the log yet. */
  readonly internal: boolean
  /** For the forms of foreign protocols. */
  readonly reason?: string
}

/** An error of Fastify or of http-errors, whose errors @fastify/sensible throws too. */
interface LibraryError {
  readonly statusCode?: unknown
  readonly status?: unknown
  readonly code?: unknown
  readonly expose?: unknown
  readonly message?: unknown
  readonly validation?: readonly SchemaError[]
  readonly validationContext?: string
}

const codeByStatus = new Map<number, ErrorCode>(
  Object.entries(errorStatus).map(([code, status]) => [status, code as ErrorCode]),
)

/**
 * Turns anything that was thrown while a request was answered into the error that the client may see. It never throws
 * itself, even if the properties of the thrown value do.
 *
 * @param requestId lets a person find the hidden cause of an internal error in the log
 */
export function toPublicError(thrown: unknown, requestId: string): PublicError {
  try {
    const known = meantForClients(thrown)
    if (known !== undefined) return known
    return internalError(codeOfFault(thrown), requestId)
  } catch {
    // An error whose properties throw is not meant for clients.
    return internalError('INTERNAL_ERROR', requestId)
  }
}

/** Makes a public error of a code of the table. */
export function publicError(
  code: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  internal = false,
): PublicError {
  return { error: true, message, code, status: errorStatus[code], headers, internal }
}

function internalError(code: ErrorCode, requestId: string): PublicError {
  const message = `Something went wrong on the node. Its log has the details under the request id ${requestId}.`
  return publicError(code, message, {}, true)
}

/** Returns the JSON of an error's body: exactly the three fields of the interface. */
export function errorBody({ message, code }: ErrorBody): string {
  return JSON.stringify({ error: true, message, code })
}

function meantForClients(thrown: unknown): PublicError | undefined {
  // Another copy of the SDK may have codes that this one does not know.
  if (isNodekeepError(thrown) && Object.hasOwn(errorStatus, thrown.code)) {
    const internal = errorStatus[thrown.code] >= 500 && thrown.logged !== true
    const error = publicError(thrown.code, thrown.message, thrown.headers, internal)
    return thrown.reason ? { ...error, reason: thrown.reason } : error
  }
  return typeof thrown === 'object' && thrown !== null ? fromLibrary(thrown as LibraryError) : undefined
}

function fromLibrary(error: LibraryError): PublicError | undefined {
  if (error.validation !== undefined) return publicError('VALIDATION_ERROR', validationMessage(error))
  switch (error.code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return publicError('PAYLOAD_TOO_LARGE', 'The request body is too large for this route.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
    case 'FST_ERR_CTP_INVALID_CONTENT_TYPE':
      return publicError('UNSUPPORTED_MEDIA_TYPE', 'This route does not take a body of that content type.')
    case 'FST_ERR_BAD_URL':
      return publicError('VALIDATION_ERROR', 'The path of the request is not well encoded.')
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return publicError('VALIDATION_ERROR', 'A part of the path is too long.')
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
    case 'FST_ERR_CTP_EMPTY_JSON_BODY':
      return publicError(
        'VALIDATION_ERROR',
        'The request body is not valid JSON, or has a key that is refused ("__proto__", "constructor.prototype").',
      )
  }
  const status = error.statusCode
  // Clients of other services throw similar errors, which do not concern this node's clients.
  const isMeant = error.expose === true || String(error.code).startsWith('FST_')
  if (!isMeant || typeof status !== 'number' || status < 400 || status >= 500) return undefined
  const message = typeof error.message === 'string' ? error.message : 'The request is not valid.'
  return publicError(codeByStatus.get(status) ?? 'VALIDATION_ERROR', message)
}

/** Returns the code of an error of http-errors with a status from 500, such as `httpErrors.serviceUnavailable()`. */
function codeOfFault(thrown: unknown): ErrorCode {
  if (!(thrown instanceof Error)) return 'INTERNAL_ERROR'
  const { expose, status, statusCode } = thrown as LibraryError
  const isHttpError = expose === false && typeof status === 'number' && status === statusCode && status >= 500
  return (isHttpError ? codeByStatus.get(status) : undefined) ?? 'INTERNAL_ERROR'
}

function validationMessage({ validation = [], validationContext }: LibraryError): string {
  const part = validationContext === 'querystring' ? 'query' : (validationContext ?? 'request')
  const problems = describeProblems(validation).map(({ path, text }) => {
    const subject = path.length === 0 ? `the ${part}` : `"${path.join('.')}" in the ${part}`
    return `${subject} ${text}`
  })
  return `Invalid input: ${problems.join(' ')}`
}
