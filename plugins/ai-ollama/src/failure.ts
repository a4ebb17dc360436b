import { modelServerError, NodekeepError } from '@nodekeep/plugin-sdk'

/** What a failure names: the provider, its section of the configuration, and the model. */
export interface FailedCall {
  /** The name under which people ask for the provider. */
  readonly name: string
  /** The configuration section. */
  readonly section: string
  /** The model that was asked for; none where the list of models was. */
  readonly model?: string
}

/** An answer of the server that is an error. */
export interface Refusal {
  readonly status: number
  readonly said: string
  readonly retryAfter: string | null
}

/** Turns an answer of the server into the error of the contract. */
export function refusalError(
  { name, section, model }: FailedCall,
  { status, said, retryAfter }: Refusal,
): NodekeepError {
  const message = messageIn(said)
  const cause = new Error(`status ${status}: ${withoutQuotes(message)}`)
  // No key is sent: these come from models that Ollama runs elsewhere, and from what stands before the server.
  if (status === 401 || status === 403) {
    const text = `The AI provider "${name}" needs a sign-in for this. Its owner has to sign in there.`
    return new NodekeepError('UPSTREAM_ERROR', text, { cause, permanent: true })
  }
  const setting = `${section}.host`
  return modelServerError(name, {
    status,
    message,
    retryAfter,
    cause,
    setting,
    ...(model !== undefined && { model }),
  })
}

/** Turns what the SDK or a connection throws into the error of the contract. */
export function connectionError({ name }: FailedCall, thrown: unknown): NodekeepError {
  const { code } = ((thrown as Error | undefined)?.cause ?? {}) as { code?: unknown }
  const late = /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$/.test(String(code))
  return modelServerError(name, { ...(late && { status: 504 }), cause: thrown })
}

/**
 * What a server says, for the log, up to where it quotes anything: that may be of the chat, such as a tool call that the
 * model wrote wrong.
 */
export function withoutQuotes(said: string): string {
  const quote = said.search(/(?<!\w)["'`{[]|\n/)
  return said.slice(0, quote < 0 ? 200 : Math.min(quote, 200))
}

/** What an `error` says. Ollama's is a text; that of others who speak its protocol may have a `message`. */
export function saidIn(error: unknown): string {
  if (typeof error === 'string') return error
  const { message } = Object(error) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(error)
}

/** Ollama says `{ "error": "…" }`. */
function messageIn(said: string): string {
  try {
    return saidIn((JSON.parse(said) as { error?: unknown }).error ?? '')
  } catch {
    return ''
  }
}
