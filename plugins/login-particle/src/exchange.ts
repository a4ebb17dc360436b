import { isNodekeepError, NodekeepError, readWithin } from '@nodekeep/plugin-sdk'
import { misunderstood } from './failures.ts'

/** One request to Particle Network's server, and its limits. */
interface Exchange {
  readonly endpoint: URL
  /** The `authorization` header. */
  readonly authorization: string
  readonly body: string
  /** Milliseconds from the connection to the last byte. */
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** Aborted when the client left or the time for the sign-in is over. */
  readonly signal: AbortSignal
  /** Aborted when the plugin has stopped. */
  readonly stopped: AbortSignal
}

/** An answer. Its text is read only when the status is 200, and is otherwise empty. */
export interface ExchangeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/**
 * Posts JSON once, without redirects and retries: a redirect would carry the server key elsewhere. An exchange that ends
 * early closes the connection.
 *
 * @throws NodekeepError UPSTREAM_ERROR, UPSTREAM_TIMEOUT or SERVICE_UNAVAILABLE; the signal's reason when it was
 * aborted
 */
export async function exchange(request: Exchange): Promise<ExchangeAnswer> {
  const { endpoint, authorization, body, timeoutMs, signal, stopped } = request
  const timeout = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(endpoint, {
      method: 'POST',
      headers: { accept: 'application/json', authorization, 'content-type': 'application/json' },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, stopped, timeout]),
    })
    const { status, headers } = response
    if (status === 200) return { status, headers, text: await readText(response, request.maxResponseBytes) }
    // The status is enough. The rest of the answer may never come.
    await response.body?.cancel().catch(() => {})
    return { status, headers, text: '' }
  } catch (error) {
    signal.throwIfAborted()
    if (stopped.aborted) {
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'Sign-in with Particle Network is being switched off.', {
        headers: { 'retry-after': '10' },
      })
    }
    if (timeout.aborted) {
      throw new NodekeepError(
        'UPSTREAM_TIMEOUT',
        'Particle Network took too long to answer. Try again later.',
        {
          cause: error,
        },
      )
    }
    if (isNodekeepError(error)) throw error
    throw new NodekeepError('UPSTREAM_ERROR', 'Particle Network could not be reached. Try again later.', {
      cause: error,
    })
  }
}

async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const tooLong = misunderstood(`it is larger than ${maxBytes} bytes (maxResponseBytes)`)
  const text = await readWithin(body ?? [], maxBytes, tooLong)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text)
  } catch {
    throw misunderstood('it is not UTF-8')
  }
}
