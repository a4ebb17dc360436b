import type { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ModelServer } from '@nodekeep/plugin-sdk/model-servers'

/** The fields of an error of the SDK (its class `APIError`). Any of them may be missing. */
interface Failure {
  readonly message?: unknown
  readonly name?: unknown
  readonly status?: unknown
  readonly headers?: { get(name: string): string | null }
  /** The value of `error` in the answer, or in an event of the reply. */
  readonly error?: unknown
  readonly code?: unknown
  readonly type?: unknown
  readonly cause?: unknown
}

/** Turns an error of the SDK into an error of the contract. */
export function providerError(server: ModelServer, thrown: unknown, model?: string): NodekeepError {
  const failure = failureOf(thrown)
  const status = statusOf(failure)
  return server.error({
    ...(status === undefined ? {} : { status }),
    // For 404 the text is not shown. The fact that a model is missing may be in the code alone.
    message: status === 404 ? JSON.stringify(failure.error ?? '') : saidBy(failure),
    code: [failure.code, failure.type].find(isWord) ?? '',
    retryAfter: failure.headers?.get('retry-after') ?? null,
    cause: causeOf(failure, thrown),
    ...(model !== undefined && { model }),
  })
}

/** Tells whether a server has no list of models, like many. */
export function hasNoList(thrown: unknown): boolean {
  const status = statusOf(failureOf(thrown))
  return status === 404 || status === 405 || status === 501
}

/** Tells whether a server refuses the option to count tokens. Older servers do not have it. */
export function refusesStreamOptions(thrown: unknown): boolean {
  const failure = failureOf(thrown)
  const refused = failure.status === 400 || failure.status === 422
  return (
    refused && /stream_options|include_usage/.test(JSON.stringify(failure.error ?? failure.message ?? ''))
  )
}

function failureOf(thrown: unknown): Failure {
  return typeof thrown === 'object' && thrown !== null ? thrown : {}
}

function statusOf({ status, error, code, message, cause }: Failure): number | undefined {
  if (typeof status === 'number') return status
  // Some servers write the status into an error within the reply.
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  // An idle connection within the reply has its reason in the cause only.
  if (/timed? ?out/i.test(`${String(message)} ${reasonOf(cause)}`)) return 504
  return error === undefined ? undefined : 500
}

function saidBy({ error, message }: Failure): string {
  if (typeof error === 'string') return error
  const { message: inner, detail } = (error ?? {}) as { message?: unknown; detail?: unknown }
  const said = inner ?? detail ?? error ?? message ?? ''
  return typeof said === 'string' ? said : JSON.stringify(said)
}

/**
 * Makes the cause for the log. Texts of the server and unparsable events stay out of it, because they may quote the chat
 * or the key.
 */
function causeOf(failure: Failure, thrown: unknown): Error {
  const { status, error, message, code, type, cause } = failure
  if (thrown instanceof SyntaxError) return new Error('An event of the answer is not valid JSON.')
  if (status !== undefined || error !== undefined) {
    const kind = [code, type].find(isWord) ?? 'no code'
    return new Error(`status ${status ?? 'none, within the reply'}, ${kind}`)
  }
  const reason = reasonOf(cause)
  return new Error(String(message ?? thrown) + (reason === '' ? '' : ` (${reason})`), { cause })
}

/** Tells whether a value is a name, such as `server_error` or `503`, rather than a sentence. */
function isWord(value: unknown): value is string {
  return (typeof value === 'number' || typeof value === 'string') && /^[\w.-]{1,64}$/.test(String(value))
}

/** Returns the code of the system or the HTTP client behind a failure, such as `ECONNREFUSED`. */
function reasonOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null) return ''
  const { code, cause: deeper } = cause as Failure
  return typeof code === 'string' ? code : reasonOf(deeper)
}
