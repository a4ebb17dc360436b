import { modelServerError, NodekeepError } from '@nodekeep/plugin-sdk'

/** What an error of the SDK tells (its class `APIError`): nothing of it is sure to be there. */
interface Failure {
  readonly message?: unknown
  readonly name?: unknown
  readonly status?: unknown
  readonly headers?: { get(name: string): string | null }
  /** What the server wrote below `error`, in the answer or in mid-reply. */
  readonly error?: unknown
  readonly code?: unknown
  readonly type?: unknown
  readonly cause?: unknown
}

/** Whose failure it is. */
interface FailedCall {
  readonly name: string
  readonly section: string
  readonly key: string
  /** The model that was asked for; none where the list of models was. */
  readonly model?: string
}

/** Turns what the SDK throws into the error of the contract. */
export function providerError({ name, section, key, model }: FailedCall, thrown: unknown): NodekeepError {
  const failure = failureOf(thrown)
  const status = statusOf(failure)
  return modelServerError(name, {
    ...(status === undefined ? {} : { status }),
    // Not shown then, and that it is about a model may stand in its code alone.
    message: status === 404 ? JSON.stringify(failure.error ?? '') : withoutKey(saidBy(failure), key),
    retryAfter: failure.headers?.get('retry-after') ?? null,
    cause: causeOf(failure, thrown, key),
    setting: `${section}.baseURL`,
    ...(model !== undefined && { model }),
  })
}

/** The same where models were asked for. Many servers have no such list. */
export function modelListError(failing: FailedCall, thrown: unknown): NodekeepError {
  const { name, section } = failing
  const status = statusOf(failureOf(thrown))
  if (status !== 404 && status !== 405 && status !== 501) return providerError(failing, thrown)
  const message = `The AI provider "${name}" has no list of models at its address. This node's owner has to check ${section}.baseURL, or can set ${section}.models.`
  return new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
}

/** Whether a server refuses the wish for a count of tokens, which older ones don't know. */
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

function statusOf({ status, code, message }: Failure): number | undefined {
  // Without credit, trying again later is as useless as with a wrong key.
  if (code === 'insufficient_quota') return 402
  if (typeof status === 'number') return status
  // Some servers write the status into an error in mid-reply.
  if (typeof code === 'number' && code >= 400 && code < 600) return code
  return /timed? ?out/i.test(String(message)) ? 504 : undefined
}

function saidBy({ error, message }: Failure): string {
  if (typeof error === 'string') return error
  const { message: inner, detail } = (error ?? {}) as { message?: unknown; detail?: unknown }
  const said = inner ?? detail ?? error ?? message ?? ''
  return typeof said === 'string' ? said : JSON.stringify(said)
}

/**
 * For the log. The server's own words stay out of it, and so does what does not parse: they may quote the chat, or the
 * key.
 */
function causeOf(failure: Failure, thrown: unknown, key: string): Error {
  const { status, error, message, code, type, cause } = failure
  if (thrown instanceof SyntaxError) return new Error('A piece of the answer is no JSON.')
  if (status !== undefined || error !== undefined) {
    const kind = [code, type].find(isWord) ?? 'no code'
    return new Error(withoutKey(`status ${status ?? 'none, in mid-reply'}, ${kind}`, key))
  }
  const reason = reasonOf(cause)
  return new Error(withoutKey(String(message ?? thrown), key) + (reason === '' ? '' : ` (${reason})`))
}

/** Whether it is a name of a kind of errors, such as `server_error` or `503`, and no sentence. */
function isWord(value: unknown): boolean {
  return /^[\w.-]{1,64}$/.test(
    typeof value === 'number' ? String(value) : typeof value === 'string' ? value : '',
  )
}

/** The code of the system or the HTTP client below a failure, such as `ECONNREFUSED`. */
function reasonOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null) return ''
  const { code, cause: deeper } = cause as Failure
  return typeof code === 'string' ? code : reasonOf(deeper)
}

function withoutKey(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '[secret]')
}
