import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Log } from '@nodekeep/plugin-sdk'
import {
  type ClientLine,
  ControlChannel,
  type GatewayMessage,
  type NodeMessage,
  readNodeMessage,
  writeLine,
} from '@nodekeep/plugin-sdk/tunnel'
import { cut, relay } from '../connections/relay.ts'

/** The process of a node, as its control connection introduces it. */
export interface NodeProcess {
  readonly nodeId: string
  /** Names the process of the node. */
  readonly instance: string
  readonly endsTls: boolean
  /** The gateway's name or address, as the node knows it. */
  readonly host: string
}

interface NodeSessionParts {
  readonly process: NodeProcess
  readonly spares: number
  readonly maxConnections: number
  readonly helloMs: number
  readonly idleMs: number
  readonly log: Log
  /** The control connection is gone. The process may be back soon. */
  readonly onAway: () => void
  /** The process of the node is gone. */
  readonly onGone: () => void
}

/** Why a client cannot be led to a node. */
type Refusal = 'away' | 'busy'

/** Milliseconds after which connections that were asked for and did not come are asked for again. */
const askAgainMs = 3000
/** Milliseconds for which the clients of a node that was lost stay: the node may be back, and their connections alive. */
const graceMs = 30_000

interface WaitingClient {
  readonly hand: (socket: TLSSocket) => void
  readonly refuse: (refusal: Refusal) => void
}

/**
 * A node at the gateway, as long as its process lives: its control connection, the connections that it holds ready, and the
 * clients that are led to it.
 */
export class NodeSession {
  readonly process: NodeProcess
  /** When the node answered a client, by the URL of the client. */
  readonly answeredAt = new Map<string, number>()
  readonly #parts: NodeSessionParts
  #channel: ControlChannel<GatewayMessage, NodeMessage> | null = null
  #grace: NodeJS.Timeout | undefined
  readonly #spares = new Set<TLSSocket>()
  readonly #waiting = new Set<WaitingClient>()
  readonly #clients = new Set<Socket>()
  /** Connections that the node was asked for and that have not come yet. */
  #asked = 0
  #askAgain: NodeJS.Timeout | undefined

  constructor(parts: NodeSessionParts) {
    this.process = parts.process
    this.#parts = parts
  }

  /** Whether the node takes clients now. */
  get isHere(): boolean {
    return this.#channel !== null
  }

  /** Takes a control connection of the process, in place of the one before. */
  attach(socket: TLSSocket): void {
    this.#channel?.close()
    clearTimeout(this.#grace)
    const channel = new ControlChannel<GatewayMessage, NodeMessage>(socket, {
      read: readNodeMessage,
      onMessage: () => {
        channel.close()
        this.#detach(channel)
        this.#parts.onGone()
      },
      onEnd: (reason) => {
        this.#parts.log.info({ node: this.process.nodeId }, `The node was lost. ${reason}`)
        this.#detach(channel)
        this.#grace = setTimeout(() => this.end(), graceMs)
      },
    })
    this.#channel = channel
    this.#asked = 0
    this.#replenish()
  }

  send(message: GatewayMessage): void {
    this.#channel?.send(message)
  }

  /** Whether the node answers its control connection within some time. */
  async answersWithin(ms: number): Promise<boolean> {
    return (await this.#channel?.answersWithin(ms)) ?? false
  }

  /** Takes a data connection that the node has opened. */
  addConnection(socket: TLSSocket): void {
    if (this.#channel === null || this.#asked === 0) {
      socket.destroy()
      return
    }
    this.#asked -= 1
    if (this.#asked === 0) clearTimeout(this.#askAgain)
    const [next] = this.#waiting
    if (next !== undefined) {
      this.#waiting.delete(next)
      next.hand(socket)
    } else {
      this.#keep(socket)
    }
  }

  /**
   * Leads a client to the node. The bytes of the client that have been read must be back in its stream.
   *
   * @param url the URL by which the client came
   * @returns why the node does not get it; then the caller answers the client
   */
  async lead(client: Socket, line: ClientLine, url: string): Promise<Refusal | null> {
    const { idleMs, maxConnections } = this.#parts
    if (this.#channel === null) return 'away'
    if (this.#clients.size + this.#waiting.size >= maxConnections) return 'busy'
    const found = await this.#takeConnection(client)
    if (typeof found === 'string') return found
    if (client.destroyed) {
      this.#keep(found)
      return null
    }
    this.#clients.add(client)
    client.once('close', () => this.#clients.delete(client))
    found.once('data', () => this.answeredAt.set(url, performance.now()))
    found.write(writeLine(line))
    relay(client, found, idleMs)
    return null
  }

  /** Ends the session: the process of the node is gone, or another one takes its place. */
  end(last?: GatewayMessage): void {
    const channel = this.#channel
    channel?.close(last)
    if (channel !== null) this.#detach(channel)
    clearTimeout(this.#grace)
    for (const client of this.#clients) cut(client)
    this.#parts.onGone()
  }

  #keep(socket: TLSSocket): void {
    if (this.#channel === null || this.#spares.size >= Math.max(1, this.#parts.spares)) {
      socket.destroy()
      return
    }
    this.#spares.add(socket)
    const drop = () => {
      socket.destroy()
      // A connection that was taken is not a spare one any more.
      if (this.#spares.delete(socket)) this.#replenish()
    }
    const unexpected = () => {
      // The node says nothing before it has a client. Reading finds out whether the connection has ended.
      if (socket.read() !== null) drop()
    }
    socket.on('readable', unexpected).on('end', drop).on('close', drop)
    spareListeners.set(socket, () => socket.off('readable', unexpected).off('end', drop).off('close', drop))
  }

  async #takeConnection(client: Socket): Promise<TLSSocket | Refusal> {
    const [spare] = this.#spares
    if (spare !== undefined) {
      this.#spares.delete(spare)
      spareListeners.get(spare)?.()
      this.#replenish()
      return spare
    }
    const { promise, resolve } = Promise.withResolvers<TLSSocket | Refusal>()
    const waiting = { hand: resolve, refuse: resolve }
    this.#waiting.add(waiting)
    const leave = () => {
      this.#waiting.delete(waiting)
      resolve('away')
    }
    const timer = setTimeout(leave, this.#parts.helloMs)
    client.once('close', leave)
    this.#replenish()
    const found = await promise
    clearTimeout(timer)
    client.off('close', leave)
    return found
  }

  /** Asks the node for the connections that clients wait for, and for spare ones. */
  #replenish(): void {
    const missing = this.#waiting.size + this.#parts.spares - this.#spares.size - this.#asked
    if (this.#channel === null || missing <= 0) return
    this.#asked += missing
    this.#channel.send({ type: 'dial', count: missing })
    clearTimeout(this.#askAgain)
    this.#askAgain = setTimeout(() => {
      this.#asked = 0
      this.#replenish()
    }, askAgainMs)
  }

  #detach(channel: ControlChannel<GatewayMessage, NodeMessage>): void {
    if (this.#channel !== channel) return
    this.#channel = null
    clearTimeout(this.#askAgain)
    for (const spare of this.#spares) {
      this.#spares.delete(spare)
      spare.destroy()
    }
    for (const { refuse } of this.#waiting) refuse('away')
    this.#waiting.clear()
    this.#parts.onAway()
  }
}

const spareListeners = new WeakMap<TLSSocket, () => void>()
