import type { Duplex } from 'node:stream'
import { type GatewayMessage, type KeepAlive, maxLineBytes, type NodeMessage, writeLine } from './messages.ts'

const pingMs = 4000
/** The other side sends at least one line within `pingMs`. With the time on the way, a loss is noticed within 10 s. */
const silenceMs = 9000
/** Bytes that the other side may leave unread. Nothing that is said here is large. */
const maxUnread = 64 * 1024

/** The two ends of a channel. */
export interface ControlChannelOptions<Received> {
  /** Reads a message of the other side. It throws an Error for one that is not valid, which ends the channel. */
  readonly read: (line: string) => Received | KeepAlive
  readonly onMessage: (message: Received) => void
  /** Called once, when the connection is closed or lost, with a sentence for the log. */
  readonly onEnd: (reason: string) => void
}

/**
 * The control connection between a node and its gateway: messages in both directions, and the knowledge whether the other side
 * is alive. A socket alone does not tell: it stays open after a cut, or while the process of the other side stands still.
 */
export class ControlChannel<
  Sent extends GatewayMessage | NodeMessage,
  Received extends GatewayMessage | NodeMessage,
> {
  readonly #socket: Duplex
  readonly #options: ControlChannelOptions<Received>
  readonly #pings: NodeJS.Timeout
  #silence: NodeJS.Timeout | undefined
  readonly #awaitingPong = new Set<() => void>()
  #line = ''
  /** Counts the pieces that the other side has sent. */
  #heard = 0
  #ended = false

  /** @param socket after the first line. The channel owns it from now on. */
  constructor(socket: Duplex, options: ControlChannelOptions<Received>) {
    this.#socket = socket
    this.#options = options
    this.#pings = setInterval(() => this.#write({ type: 'ping' }), pingMs)
    this.#expectLine()
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => this.#receive(text))
    socket.on('end', () => this.#end('The other side closed the connection.'))
    socket.on('error', ({ message }) => this.#end(`The connection failed: ${message}.`))
    socket.on('close', () => this.#end('The connection was closed.'))
    if (socket.destroyed) queueMicrotask(() => this.#end('The connection was closed.'))
  }

  /** Sends a message. After the end, it does nothing. */
  send(message: Sent): void {
    this.#write(message)
  }

  /** Asks the other side, and resolves with whether it answered in time. */
  async answersWithin(ms: number): Promise<boolean> {
    if (this.#ended) return false
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const answered = () => resolve(true)
    const timer = setTimeout(resolve, ms, false)
    this.#awaitingPong.add(answered)
    this.#write({ type: 'ping' })
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      this.#awaitingPong.delete(answered)
    }
  }

  /** Sends the last message and closes the connection. `onEnd` is not called any more. */
  close(last?: Sent): void {
    if (this.#ended) return
    if (last !== undefined) this.#write(last)
    this.#release()
    this.#socket.end()
    const timer = setTimeout(() => this.#socket.destroy(), 1000)
    this.#socket.once('end', () => this.#socket.destroy()).once('close', () => clearTimeout(timer))
  }

  #write(message: Sent | KeepAlive): void {
    if (this.#ended) return
    this.#socket.write(writeLine(message))
    if (this.#socket.writableLength > maxUnread) this.#end('The other side does not read.')
  }

  #receive(text: string): void {
    if (this.#ended) return
    this.#heard += 1
    this.#expectLine()
    const lines = (this.#line + text).split('\n')
    this.#line = lines.pop() ?? ''
    for (const line of lines) {
      if (Buffer.byteLength(line) > maxLineBytes) this.#end('The other side sent a line that is too long.')
      else this.#take(line)
      if (this.#ended) return
    }
    if (Buffer.byteLength(this.#line) > maxLineBytes)
      this.#end('The other side sent a line that is too long.')
  }

  #take(line: string): void {
    let message: Received | KeepAlive
    try {
      message = this.#options.read(line)
    } catch (error) {
      this.#end((error as Error).message)
      return
    }
    if (message.type === 'ping') this.#write({ type: 'pong' })
    else if (message.type === 'pong') for (const answered of this.#awaitingPong) answered()
    else this.#options.onMessage(message as Received)
  }

  #expectLine(): void {
    clearTimeout(this.#silence)
    this.#silence = setTimeout(() => this.#suspect(), silenceMs)
  }

  /** After a standstill of this process, it first reads what the other side has sent meanwhile. */
  #suspect(): void {
    const heard = this.#heard
    setImmediate(() => {
      if (this.#heard === heard) this.#end('The other side has been silent for 9 s.')
    })
  }

  #end(reason: string): void {
    if (this.#ended) return
    this.#release()
    this.#socket.destroy()
    this.#options.onEnd(reason)
  }

  #release(): void {
    this.#ended = true
    clearInterval(this.#pings)
    clearTimeout(this.#silence)
  }
}
