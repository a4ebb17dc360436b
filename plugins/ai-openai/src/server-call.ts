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
  /** Longest wait for a connection that is ready, encrypted where it has to be, in milliseconds. Default: 10 seconds. */
  readonly connectMs?: number
}

/**
 * Makes a request, and resolves with the beginning of its answer. It follows no redirects. By Node's own client: a
 * `fetch` costs as much again as all else that the node does for a chat.
 *
 * @throws what the connection failed with, or the reason of the signal
 */
export function callServer(
  address: string,
  { method, headers, body, signal, connectMs = 10_000 }: ServerCall,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options: RequestOptions = { method, headers: { ...headers } }
  const encrypted = address.startsWith('https:')
  const request = encrypted
    ? requestHttps(address, { ...options, agent: https })
    : requestHttp(address, { ...options, agent: http })
  const giveUp = (reason: unknown) => {
    stop()
    request.destroy(reason instanceof Error ? reason : undefined)
    // Where no connection has begun, as while a proxy is asked for one, the request tells nobody that it is over.
    reject(reason)
  }
  const end = () => giveUp(signal?.reason)
  const late = setTimeout(() => giveUp(new Error('The connection timed out.')), connectMs)
  const stop = () => clearTimeout(late)
  let answered = false
  request.once('response', (answer) => {
    answered = true
    resolve(answer)
  })
  request.on('error', reject)
  request.once('socket', (socket) => {
    if (socket.connecting) socket.once(encrypted ? 'secureConnect' : 'connect', stop)
    else stop()
  })
  request.once('close', () => {
    stop()
    signal?.removeEventListener('abort', end)
    // An answer that changes the protocol is neither a response nor an error.
    if (!answered) reject(new Error('The connection closed without an answer.'))
  })
  signal?.addEventListener('abort', end)
  if (signal?.aborted) end()
  else request.end(body)
  return promise
}
