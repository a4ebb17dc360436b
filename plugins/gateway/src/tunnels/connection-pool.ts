import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'

interface ConnectionPoolOptions {
  /** Connections that wait for clients. */
  readonly spares: number
  /** Milliseconds in which the node must open a connection while clients wait. Then it counts as away. */
  readonly waitMs: number
}

/** Milliseconds without any connection after which those that were asked for are asked for again. */
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
  #giveUp: NodeJS.Timeout | undefined
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
    const [next] = this.#waiting
    if (next === undefined) this.giveBack(socket)
    else next(socket)
    // The others are on their way. On a busy machine, hundreds of handshakes take long.
    this.#stopTimers()
    this.#startTimers()
  }

  /** Returns a connection for a client, `null` if the client leaves or the node opens none for anybody in time. */
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
      if (this.#waiting.size === 0) this.#stopGivingUp()
      resolve(found)
    }
    const leave = () => answer(null)
    client.once('close', leave)
    this.#waiting.add(answer)
    this.#replenish()
    this.#startTimers()
    const found = await promise
    client.off('close', leave)
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
    this.#stopTimers()
    for (const [socket, release] of this.#spares) {
      release()
      socket.destroy()
    }
    this.#sendAway()
  }

  #sendAway(): void {
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
    this.#startTimers()
  }

  /** Starts the timers that have something to wait for and do not run. */
  #startTimers(): void {
    if (this.#isClosed) return
    if (this.#asked > 0)
      this.#askAgain ??= setTimeout(() => {
        this.#askAgain = undefined
        this.#asked = 0
        this.#replenish()
      }, askAgainMs)
    if (this.#waiting.size > 0)
      this.#giveUp ??= setTimeout(() => {
        this.#giveUp = undefined
        this.#sendAway()
      }, this.#options.waitMs)
  }

  #stopTimers(): void {
    clearTimeout(this.#askAgain)
    this.#askAgain = undefined
    this.#stopGivingUp()
  }

  #stopGivingUp(): void {
    clearTimeout(this.#giveUp)
    this.#giveUp = undefined
  }
}
