import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import { misunderstood } from './failures.ts'

/** One request to Particle Network's server, and how much it may take. */
export interface Exchange {
  readonly endpoint: URL
  /** The `authorization` header. */
  readonly authorization: string
  readonly body: string
  /** Milliseconds from the connection to the last byte. */
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
  /** Aborted when the plugin has stopped. */
  readonly stopped: AbortSignal
}

/** An answer in which the text was read only when the status is 200. */
export interface ExchangeAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/**
 * Posts JSON once: no redirect is followed, since it would carry the server key elsewhere, and nothing is tried
 * again. Whatever ends the exchange early closes the connection.
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
    // The status says enough, also when the rest of the answer never comes.
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

/** Reads a body of UTF-8 up to a limit. Leaving the loop cancels the rest. */
async function readText({ body }: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw misunderstood(`it is larger than ${maxBytes} bytes (maxResponseBytes)`)
    chunks.push(chunk)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw misunderstood('it is not UTF-8')
  }
}
