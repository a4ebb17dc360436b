/**
 * The error table: every code that an answer of the node can carry, with its HTTP status.
 *
 * The first five codes and their statuses come from the interface ("Errors"); the others extend it for cases
 * that the interface leaves open. A client may rely on `code`; messages are for people and may change.
 */
export const errorStatus = {
  VALIDATION_ERROR: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  INTERNAL_ERROR: 500,
  METHOD_NOT_ALLOWED: 405,
  REQUEST_TIMEOUT: 408,
  CONFLICT: 409,
  PRECONDITION_FAILED: 412,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  RANGE_NOT_SATISFIABLE: 416,
  UNPROCESSABLE: 422,
  TOO_MANY_REQUESTS: 429,
  HEADERS_TOO_LARGE: 431,
  UPSTREAM_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
  UPSTREAM_TIMEOUT: 504,
  INSUFFICIENT_STORAGE: 507,
} as const

/** A code of the error table. */
export type ErrorCode = keyof typeof errorStatus

/** The JSON body of every error answer: exactly these three fields. */
export interface ErrorBody {
  readonly error: true
  readonly message: string
  readonly code: ErrorCode
}

/** What may accompany an error. */
export interface NodekeepErrorOptions {
  /** The underlying failure. It is logged, never sent to the client. */
  readonly cause?: unknown
  /** Response headers that belong to this error, such as `retry-after` (seconds) or `allow`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Says that making the same call again cannot help, to those who would try. */
  readonly permanent?: boolean
  /** Says that the log knows it already, as of a state that lasts: the node doesn't log it again for each request. */
  readonly logged?: boolean
}

const brand: unique symbol = Symbol.for('nodekeep.error@1')

/**
 * An error that the node answers with its code's status and exactly `{ error: true, message, code }`.
 *
 * Throw it anywhere: in a route, a service, a provider. The message goes to the client, so it says what to do
 * and names nothing internal. Whatever else is thrown becomes INTERNAL_ERROR with its cause hidden.
 *
 * @example throw new NodekeepError('NOT_FOUND', 'There is no note named "shopping".')
 */
export class NodekeepError extends Error {
  readonly code: ErrorCode
  readonly headers: Readonly<Record<string, string>>
  /** Whether making the same call again cannot help. `false` where nobody said so. */
  readonly permanent: boolean
  /** Whether who threw it has told the log. `false` where nobody said so. */
  readonly logged: boolean

  constructor(code: ErrorCode, message: string, options: NodekeepErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'NodekeepError'
    this.code = code
    this.headers = options.headers ?? {}
    this.permanent = options.permanent ?? false
    this.logged = options.logged ?? false
    Object.defineProperty(this, brand, { value: true })
  }

  /** The HTTP status that belongs to the code. */
  get status(): number {
    return errorStatus[this.code]
  }
}

/**
 * Tells whether a value is a Nodekeep error, made by this copy of the SDK or by another one: errors cross
 * packages by brand, never by `instanceof`.
 */
export function isNodekeepError(value: unknown): value is NodekeepError {
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
}

/**
 * What a client may see of anything that was thrown, for routes that report errors within an answer that has begun.
 * Whatever is no Nodekeep error stays hidden behind INTERNAL_ERROR: log it.
 *
 * @param requestId leads from the answer to the line in the log
 */
export function errorBodyOf(thrown: unknown, requestId: string): ErrorBody {
  // Another copy of the SDK may know codes that this one doesn't.
  if (isNodekeepError(thrown) && Object.hasOwn(errorStatus, thrown.code)) {
    return { error: true, message: thrown.message, code: thrown.code }
  }
  const message = `Something went wrong on the node. Its log has the details under the request id ${requestId}.`
  return { error: true, message, code: 'INTERNAL_ERROR' }
}
