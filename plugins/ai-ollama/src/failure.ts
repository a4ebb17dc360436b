import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { ModelServer } from '@nodekeep/plugin-sdk/model-servers'

/** An error answer of the server. */
interface Refusal {
  readonly status: number
  readonly said: string
  readonly retryAfter: string | null
}

/** The call that was refused. */
interface RefusedCall {
  readonly server: ModelServer
  /** The name of the provider. */
  readonly name: string
  /** The requested model, unless the request was for the list of models. */
  readonly model?: string
}

/** Turns an error answer of the server into an error of the contract. */
export function refusalError(
  { server, name, model }: RefusedCall,
  { status, said, retryAfter }: Refusal,
): NodekeepError {
  const message = messageIn(said)
  const cause = new Error(`status ${status}: ${withoutQuotes(message)}`)
  // The node sends no key. These come from models that Ollama runs in its cloud, and from proxies.
  if (status === 401 || status === 403) {
    const text = `The AI provider "${name}" needs a sign-in for this. The owner of the node must sign in there.`
    return new NodekeepError('UPSTREAM_ERROR', text, { cause, permanent: true })
  }
  return server.error({ status, message, retryAfter, cause, ...(model !== undefined && { model }) })
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
