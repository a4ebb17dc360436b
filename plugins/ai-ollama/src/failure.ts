import { NodekeepError } from '@nodekeep/plugin-sdk'
import { modelServerError } from '@nodekeep/plugin-sdk/model-servers'

/** The call that failed, for messages. */
export interface FailedCall {
  /** The name of the provider. */
  readonly name: string
  /** The section of the configuration. */
  readonly section: string
  /** The requested model, unless the request was for the list of models. */
  readonly model?: string
}

/** An error answer of the server. */
interface Refusal {
  readonly status: number
  readonly said: string
  readonly retryAfter: string | null
}

/** Turns an error answer of the server into an error of the contract. */
export function refusalError(
  { name, section, model }: FailedCall,
  { status, said, retryAfter }: Refusal,
): NodekeepError {
  const message = messageIn(said)
  const cause = new Error(`status ${status}: ${withoutQuotes(message)}`)
  // The node sends no key. These come from models that Ollama runs in its cloud, and from proxies.
  if (status === 401 || status === 403) {
    const text = `The AI provider "${name}" needs a sign-in for this. The owner of the node must sign in there.`
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

/** Turns an error of the SDK or of the connection into an error of the contract. */
export function connectionError(
  { name, section }: FailedCall,
  thrown: unknown,
  address?: string,
): NodekeepError {
  const { code } = ((thrown as Error | undefined)?.cause ?? {}) as { code?: unknown }
  const late = /^UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT$/.test(String(code))
  const setting = `${section}.host`
  return modelServerError(name, {
    ...(late && { status: 504 }),
    cause: thrown,
    setting,
    ...(address !== undefined && { address }),
  })
}

/**
 * Returns the text of a server up to the first quotation, for the log. The quotation may be of the chat, such as a tool
 * call that the model wrote wrong.
 */
export function withoutQuotes(said: string): string {
  const quote = said.search(/(?<!\w)["'`{[]|\n/)
  return said.slice(0, quote < 0 ? 200 : Math.min(quote, 200))
}

/** Returns the text of an `error`. Ollama's is a text; other servers may send an object with a `message`. */
export function saidIn(error: unknown): string {
  if (typeof error === 'string') return error
  const { message } = Object(error) as { message?: unknown }
  return typeof message === 'string' ? message : JSON.stringify(error)
}

/** Returns the text of an error answer: `{ "error": "…" }`. */
function messageIn(said: string): string {
  try {
    return saidIn((JSON.parse(said) as { error?: unknown }).error ?? '')
  } catch {
    return ''
  }
}
