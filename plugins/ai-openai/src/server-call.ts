import {
  type AgentOptions,
  globalAgent,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http'
import {
  globalAgent as globalTlsAgent,
  Agent as HttpsAgent,
  type RequestOptions,
  request as requestHttps,
} from 'node:https'

/** Longest wait for a connection, in milliseconds. */
const longestConnectMs = 10_000

/** Less than the five seconds after which many servers close a connection on which nothing happens. */
const idleMs = 4000

// With what Node's own agents have, such as the proxy of the environment.
const { options: usual } = globalAgent as HttpAgent & { readonly options: AgentOptions }
const http = new HttpAgent({ ...usual, timeout: idleMs })
const https = new HttpsAgent({ ...globalTlsAgent.options, timeout: idleMs })

/** A request of a server. */
export interface ServerCall {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** Ends the call at any time, also while its answer is read. */
  readonly signal?: AbortSignal
}

/**
 * Makes a request, and resolves with the beginning of its answer. It follows no redirects. By Node's own client: a
 * `fetch` costs as much again as all else that the node does for a chat.
 *
 * @throws what the connection failed with, or the reason of the signal
 */
export function callServer(
  address: string,
  { method, headers, body, signal }: ServerCall,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options: RequestOptions = { method, headers: { ...headers } }
  const request = address.startsWith('https:')
    ? requestHttps(address, { ...options, agent: https })
    : requestHttp(address, { ...options, agent: http })
  const end = () => request.destroy(signal?.reason instanceof Error ? signal.reason : undefined)
  request.once('response', resolve)
  request.on('error', reject)
  request.once('socket', (socket) => {
    if (!socket.connecting) return
    const late = setTimeout(() => request.destroy(new Error('The connection timed out.')), longestConnectMs)
    const stop = () => clearTimeout(late)
    socket.once('connect', stop).once('close', stop)
  })
  request.once('close', () => signal?.removeEventListener('abort', end))
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  else request.end(body)
  return promise
}
