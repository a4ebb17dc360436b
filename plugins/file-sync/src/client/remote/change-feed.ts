import {
  type ClientMessage,
  protocolVersion,
  readServerMessage,
  type ServerMessage,
} from '../../protocol/messages.ts'
import { SyncFailure } from '../sync-failure.ts'
import type { NodeAccess } from './node-requests.ts'

/** Milliseconds between two pings. A connection that brings nothing for twice this time is dead. */
const pingMs = 30_000

/** An error that the node has sent before it closed the connection. */
export class FeedError extends SyncFailure {
  readonly code: string

  constructor(code: string, message: string) {
    super('unavailable', message)
    this.code = code
  }
}

/** The pings of the connection that is open. */
export class FeedPings {
  #send: (() => void) | null = null
  #waiting: PromiseWithResolvers<void>[] = []

  /** Resolves with the pong. Rejects if the connection is lost before. */
  async ping(): Promise<void> {
    if (this.#send === null) throw new SyncFailure('unavailable', 'There is no connection to the node.')
    const waiting = Promise.withResolvers<void>()
    this.#waiting.push(waiting)
    this.#send()
    return waiting.promise
  }

  begin(send: () => void): void {
    this.#send = send
  }

  pong(): void {
    this.#waiting.shift()?.resolve()
  }

  end(failure: SyncFailure): void {
    this.#send = null
    for (const { reject } of this.#waiting.splice(0)) reject(failure)
  }
}

/**
 * Follows the changes of a node over a WebSocket. Resolves when the signal aborts.
 *
 * @throws FeedError if the node closes the connection with an error; SyncFailure `unavailable` if the connection is lost
 */
export async function followChanges(
  { url, token }: NodeAccess,
  hello: Omit<ClientMessage & { readonly type: 'hello' }, 'type' | 'protocol'>,
  onMessage: (message: ServerMessage, ack: (cursor: number) => void) => void,
  signal: AbortSignal,
  feedPings: FeedPings,
): Promise<void> {
  const address = new URL('/api/sync', url)
  address.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  // Node's WebSocket takes headers, unlike that of browsers.
  const socket = new WebSocket(address, { headers: { authorization: `Bearer ${token}` } } as never)
  const say = (message: ClientMessage) =>
    socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message))
  const ended = Promise.withResolvers<void>()
  let last = performance.now()
  const pings = setInterval(() => {
    if (performance.now() - last > 2 * pingMs) ended.reject(lost())
    else feedPings.ping().catch(() => {})
  }, pingMs)
  socket.addEventListener('open', () => {
    say({ type: 'hello', protocol: protocolVersion, ...hello })
    feedPings.begin(() => say({ type: 'ping' }))
  })
  socket.addEventListener('message', ({ data }) => {
    last = performance.now()
    try {
      const message = readServerMessage(String(data))
      if (message?.type === 'error') throw new FeedError(message.error.code, message.error.message)
      if (message?.type === 'pong') feedPings.pong()
      else if (message !== null) onMessage(message, (cursor) => say({ type: 'ack', cursor }))
    } catch (error) {
      ended.reject(error)
    }
  })
  socket.addEventListener('error', () => ended.reject(lost()))
  socket.addEventListener('close', () => ended.reject(lost()))
  const end = () => ended.resolve()
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    await ended.promise
  } finally {
    signal.removeEventListener('abort', end)
    clearInterval(pings)
    feedPings.end(lost())
    socket.close()
  }

  function lost(): SyncFailure {
    return new SyncFailure('unavailable', `The connection to ${url.origin} is lost.`)
  }
}
