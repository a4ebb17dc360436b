import { type RawData, WebSocket } from 'ws'
import {
  type ClientMessage,
  longestServerMessage,
  protocolVersion,
  readServerMessage,
  type ServerMessage,
} from '../../protocol/messages.ts'
import type { Answer } from '../ports.ts'
import { SyncFailure } from '../sync-failure.ts'
import type { NodeAccess } from './node-requests.ts'

/** Milliseconds between two pings, and until the handshake must be over. A connection that does not answer a ping is dead. */
const pingMs = 30_000

/** Messages between two pings. A node sends at most 20 messages with changes per second. */
const mostMessages = 1000

/** Milliseconds for the node to close its side, too. */
const closeMs = 1000

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
 * Bounds the messages of a node, which may be hostile. It says welcome once and sends at most one reset: if its journal is
 * reset later, the client connects again. It sends changes one message at a time.
 */
class MessageBounds {
  #left = mostMessages
  readonly #seen = new Set<string>()
  #isAcknowledged = true

  /** Called with each ping. */
  renew(): void {
    this.#left = mostMessages
  }

  /** @throws SyncFailure `unavailable` for a message that is one too many */
  take(type: ServerMessage['type'] | undefined): void {
    this.#left -= 1
    const isOnce = type === 'welcome' || type === 'reset'
    const isEarly = type === 'changes' && !this.#isAcknowledged
    if (isOnce && this.#seen.has(type)) throw new SyncFailure('unavailable', 'The node began anew.')
    if (this.#left < 0 || isEarly)
      throw new SyncFailure('unavailable', 'The node sent more messages than it may.')
    if (isOnce) this.#seen.add(type)
    if (type === 'changes') this.#isAcknowledged = false
  }

  acknowledge(): void {
    this.#isAcknowledged = true
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
  onMessage: (message: ServerMessage, say: (answer: Answer) => void) => void,
  signal: AbortSignal,
  feedPings: FeedPings,
): Promise<void> {
  const address = new URL('/api/sync', url)
  address.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  // The WebSocket of Node has no bound for messages.
  const socket = new WebSocket(address, {
    headers: { authorization: `Bearer ${token}` },
    maxPayload: longestServerMessage,
    perMessageDeflate: false,
    handshakeTimeout: pingMs,
  })
  const say = (message: ClientMessage) =>
    socket.readyState === WebSocket.OPEN && socket.send(JSON.stringify(message))
  const ended = Promise.withResolvers<void>()
  const bounds = new MessageBounds()
  let isAnswered = true
  const pings = setInterval(() => {
    if (!isAnswered) return ended.reject(lost())
    isAnswered = socket.readyState !== WebSocket.OPEN
    bounds.renew()
    feedPings.ping().then(
      () => {
        isAnswered = true
      },
      () => {},
    )
  }, pingMs)
  const answer = (message: Answer) => {
    if (message.type === 'ack') bounds.acknowledge()
    say(message)
  }
  socket.on('open', () => {
    say({ type: 'hello', protocol: protocolVersion, ...hello })
    feedPings.begin(() => say({ type: 'ping' }))
  })
  socket.on('message', (data: RawData) => {
    try {
      const message = read(String(data))
      bounds.take(message?.type)
      if (message?.type === 'error') throw new FeedError(message.error.code, message.error.message)
      if (message?.type === 'pong') feedPings.pong()
      else if (message !== null) onMessage(message, answer)
    } catch (error) {
      ended.reject(error)
    }
  })
  socket.on('error', () => ended.reject(lost()))
  socket.on('close', () => ended.reject(lost()))
  const end = () => ended.resolve()
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    await ended.promise
  } finally {
    signal.removeEventListener('abort', end)
    clearInterval(pings)
    feedPings.end(lost())
    socket.removeAllListeners('message')
    socket.close()
    setTimeout(() => socket.terminate(), closeMs).unref()
  }

  function lost(): SyncFailure {
    return new SyncFailure('unavailable', `The connection to ${url.origin} is lost.`)
  }
}

function read(text: string): ServerMessage | null {
  try {
    return readServerMessage(text)
  } catch (error) {
    throw new SyncFailure('unavailable', (error as Error).message, { cause: error })
  }
}
