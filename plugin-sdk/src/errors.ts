/**
 * The error table: every code that an answer of the node can have, with its HTTP status.
 *
 * The first five codes and their statuses come from the interface ("Errors"). The others cover cases that the
 * interface leaves open. A client may rely on `code`. Messages are for people and may change.
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
  MISDIRECTED_REQUEST: 421,
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

/**
 * The JSON body of every error that a plugin throws. It has exactly these three fields. A route that sends an error itself may add
 * others, such as the output of a program (`POST /api/wasm/run`).
 */
export interface ErrorBody {
  readonly error: true
  readonly message: string
  readonly code: ErrorCode
}

/** Options of an error. */
export interface NodekeepErrorOptions {
  /** The underlying failure. It is logged, never sent to the client. */
  readonly cause?: unknown
  /** Response headers that belong to this error, such as `retry-after` (seconds) or `allow`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether a retry of the same call is useless. Default: `false`. */
  readonly permanent?: boolean
  /**
   * Whether the failure is in the log already, such as a lasting state that fails every request. The node does not log
   * it again for each request. Default: `false`.
   */
  readonly logged?: boolean
  /**
   * Tells failures with the same code apart, for other plugins and for foreign protocols: a word in lower case, such as
   * `insufficient_quota`. It is no part of the error body.
   */
  readonly reason?: string
}

const brand: unique symbol = Symbol.for('nodekeep.error@1')

/**
 * An error that the node answers with the status of its code and exactly `{ error: true, message, code }`.
 *
 * Throw it anywhere: in a route, a service, a provider. The client sees the message, so it says what to do and names
 * nothing internal. Any other thrown value becomes INTERNAL_ERROR, and its cause stays hidden.
 *
 * @example throw new NodekeepError('NOT_FOUND', 'There is no note named "shopping".')
 */
export class NodekeepError extends Error {
  readonly code: ErrorCode
  readonly headers: Readonly<Record<string, string>>
  /** Whether a retry of the same call is useless. */
  readonly permanent: boolean
  /** Whether the failure is in the log already. */
  readonly logged: boolean
  /** A word that tells failures with the same code apart, or `null`. */
  readonly reason: string | null

  constructor(code: ErrorCode, message: string, options: NodekeepErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'NodekeepError'
    this.code = code
    this.headers = options.headers ?? {}
    this.permanent = options.permanent ?? false
    this.logged = options.logged ?? false
    this.reason = options.reason ?? null
    Object.defineProperty(this, brand, { value: true })
  }

  /** The HTTP status of the code. */
  get status(): number {
    return errorStatus[this.code]
  }
}

/** Returns an error for input that is wrong whatever the state of the node is. The message says how it must be. */
export function invalid(message: string): NodekeepError {
  return new NodekeepError('VALIDATION_ERROR', message)
}

/** Returns an error for a request that the present state does not allow. The message says what has to change before. */
export function conflict(message: string): NodekeepError {
  return new NodekeepError('CONFLICT', message)
}

/**
 * Returns whether a value is a NodekeepError of this copy of the SDK or another one. Packages recognize errors by their
 * brand, never by `instanceof`. It never throws itself, whatever was thrown.
 */
export function isNodekeepError(value: unknown): value is NodekeepError {
  try {
    return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
  } catch {
    // A proxy may refuse to be read.
    return false
  }
}

/**
 * Returns the error body that a client may see of a thrown value, for routes that report errors within an answer that
 * has begun. Any value but a NodekeepError stays hidden behind INTERNAL_ERROR, so log it.
 *
 * @param requestId the id of the request, by which the owner finds the line in the log
 */
export function errorBodyOf(thrown: unknown, requestId: string): ErrorBody {
  // Another copy of the SDK may have codes that this one does not have.
  if (isNodekeepError(thrown) && Object.hasOwn(errorStatus, thrown.code)) {
    return { error: true, message: thrown.message, code: thrown.code }
  }
  const message = `Something went wrong on the node. Its log has the details under the request id ${requestId}.`
  return { error: true, message, code: 'INTERNAL_ERROR' }
}
