import type { Message } from './message.ts'
import { signedHeaders } from './signature.ts'

/** How long the receiver may take to answer, in milliseconds. */
const answerMs = 15_000

/** The one address that gets messages. */
export interface Receiver {
  /** Its host, for people: the whole address may be a secret. */
  readonly host: string
  /** Another text for each address. */
  readonly url: string
  /**
   * Sends a message, once.
   *
   * @returns why it did not arrive, as a sentence; `null` if the receiver has taken it
   * @throws the reason of the signal
   */
  send(message: Message, signal: AbortSignal): Promise<string | null>
}

/**
 * Returns the receiver of a configuration. Messages go to its address and to no other: a redirect is a failure, and nothing of the
 * answer is read but its status.
 */
export function createReceiver(url: string, secret: string): Receiver {
  const { host } = new URL(url)
  return {
    host,
    url,
    async send({ id, body }, signal) {
      const headers = { 'content-type': 'application/json', ...signedHeaders(secret, id, body, new Date()) }
      const late = AbortSignal.timeout(answerMs)
      try {
        const answer = await fetch(url, {
          method: 'POST',
          redirect: 'manual',
          headers,
          body,
          signal: AbortSignal.any([signal, late]),
        })
        await answer.body?.cancel()
        return problemOf(answer, host)
      } catch (error) {
        signal.throwIfAborted()
        if (late.aborted) return `${host} did not answer within ${answerMs / 1000} seconds.`
        return `${host} cannot be reached${reasonOf(error)}. Check "attention-webhook.url".`
      }
    },
  }
}

function problemOf({ ok, status }: Response, host: string): string | null {
  if (ok) return null
  if (status >= 300 && status < 400)
    return `${host} redirects to another address. Write the last one into "attention-webhook.url".`
  return `${host} refused the message with the status ${status}.`
}

/** The code of the system, such as ` (ECONNREFUSED)`. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } }
  return typeof cause?.code === 'string' ? ` (${cause.code})` : ''
}
