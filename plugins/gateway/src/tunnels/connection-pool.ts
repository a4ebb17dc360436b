import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

interface ConnectionPoolOptions {
  /** Connections that wait for clients. */
  readonly spares: number
  /** Milliseconds for which a client waits for a connection. */
  readonly waitMs: number
}

/** Milliseconds after which connections that were asked for and did not come are asked for again. */
const askAgainMs = 3000

/** The data connections of a node that have no client, and the clients that have no connection. */
export class ConnectionPool {
  readonly #dial: (count: number) => void
  readonly #options: ConnectionPoolOptions
  /** Each with a function that ends the watch over it. */
  readonly #spares = new Map<TLSSocket, () => void>()
  readonly #waiting = new Set<(found: TLSSocket | null) => void>()
  /** Connections that the node was asked for and that have not come yet. */
  #asked = 0
  #askAgain: NodeJS.Timeout | undefined
  #isClosed = false

  /** @param dial asks the node to open connections */
  constructor(dial: (count: number) => void, options: ConnectionPoolOptions) {
    this.#dial = dial
    this.#options = options
    this.#replenish()
  }

  /** The clients that wait. */
  get waiting(): number {
    return this.#waiting.size
  }

  /** Takes a connection that the node has opened. One that nobody needs is closed: its client may have left meanwhile. */
  add(socket: TLSSocket): void {
    if (this.#asked === 0) {
      socket.destroy()
      return
    }
    this.#asked -= 1
    if (this.#asked === 0) clearTimeout(this.#askAgain)
    const [next] = this.#waiting
    if (next === undefined) this.giveBack(socket)
    else next(socket)
  }

  /** Returns a connection for a client, `null` if the client leaves or the node opens none in time. */
  async take(client: Socket): Promise<TLSSocket | null> {
    const [spare] = this.#spares
    if (spare !== undefined) {
      const [socket, release] = spare
      release()
      this.#replenish()
      return socket
    }
    const { promise, resolve } = Promise.withResolvers<TLSSocket | null>()
    const answer = (found: TLSSocket | null) => {
      this.#waiting.delete(answer)
      resolve(found)
    }
    const giveUp = () => answer(null)
    const timer = setTimeout(giveUp, this.#options.waitMs)
    client.once('close', giveUp)
    this.#waiting.add(answer)
    this.#replenish()
    const found = await promise
    clearTimeout(timer)
    client.off('close', giveUp)
    return found
  }

  /** Keeps a connection without a client as a spare one, or closes it. */
  giveBack(socket: TLSSocket): void {
    if (!this.#isClosed && this.#spares.size < this.#options.spares) this.#addSpare(socket)
    else socket.destroy()
  }

  /** Closes the connections, and sends the clients away. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#askAgain)
    for (const [socket, release] of this.#spares) {
      release()
      socket.destroy()
    }
    for (const answer of this.#waiting) answer(null)
  }

  #addSpare(socket: TLSSocket): void {
    const drop = () => {
      release()
      socket.destroy()
      this.#replenish()
    }
    const read = () => {
      // The node says nothing before it has a client. Reading finds out whether the connection has ended.
      if (socket.read() !== null) drop()
    }
    const release = () => {
      this.#spares.delete(socket)
      socket.off('readable', read).off('end', drop).off('close', drop)
    }
    this.#spares.set(socket, release)
    socket.on('readable', read).on('end', drop).on('close', drop)
    if (socket.destroyed) drop()
  }

  /** Asks for the connections that clients wait for, and for spare ones. */
  #replenish(): void {
    const missing = this.#waiting.size + this.#options.spares - this.#spares.size - this.#asked
    if (missing <= 0) return
    this.#asked += missing
    this.#dial(missing)
    clearTimeout(this.#askAgain)
    this.#askAgain = setTimeout(() => {
      this.#asked = 0
      this.#replenish()
    }, askAgainMs)
  }
}
