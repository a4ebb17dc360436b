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
import { ByteRate } from '../connections/byte-rate.ts'
import { cut, relay } from '../connections/relay.ts'
import { ConnectionPool } from './connection-pool.ts'

/** The process of a node, as its control connection introduces it. */
export interface NodeProcess {
  readonly nodeId: string
  /** Names the process of the node. */
  readonly instance: string
  readonly endsTls: boolean
  /** The gateway's name or address, as the node knows it. */
  readonly host: string
  /** The group of the address from which the process came first. */
  readonly addressGroup: string
}

/** The parts and limits of a session. */
export interface NodeSessionParts {
  readonly process: NodeProcess
  readonly spares: number
  readonly maxConnections: number
  readonly helloMs: number
  readonly idleMs: number
  /** All connections of the node together; `null` without a limit. */
  readonly bytesPerSecond: number | null
  readonly log: Log
  /** The control connection is gone. The process may be back soon. */
  readonly onAway: () => void
  /** The process of the node is gone. */
  readonly onGone: () => void
}

/** Why a client cannot be led to a node. */
type Refusal = 'away' | 'busy'

/** Milliseconds for which the clients of a node that was lost stay: the node may be back, and their connections alive. */
const graceMs = 30_000

type Channel = ControlChannel<GatewayMessage, NodeMessage>

/**
 * A node at the gateway, as long as its process lives: its control connection, the connections that it holds ready, and the
 * clients that are led to it.
 */
export class NodeSession {
  readonly process: NodeProcess
  /** When the node answered a client, by the URL of the client. */
  readonly answeredAt = new Map<string, number>()
  readonly #parts: NodeSessionParts
  readonly #rate: ByteRate | null
  readonly #clients = new Set<Socket>()
  #present: { readonly channel: Channel; readonly pool: ConnectionPool } | null = null
  #grace: NodeJS.Timeout | undefined

  constructor(parts: NodeSessionParts) {
    this.process = parts.process
    this.#parts = parts
    this.#rate = parts.bytesPerSecond === null ? null : new ByteRate(parts.bytesPerSecond)
  }

  /** Whether the node takes clients now. */
  get isHere(): boolean {
    return this.#present !== null
  }

  /** Takes a control connection of the process, in place of the one before. */
  attach(socket: TLSSocket): void {
    this.#detach()?.close()
    clearTimeout(this.#grace)
    const channel: Channel = new ControlChannel(socket, {
      read: readNodeMessage,
      onMessage: () => {
        this.#detach()?.close()
        this.#parts.onGone()
      },
      onEnd: (reason) => {
        this.#parts.log.info({ node: this.process.nodeId }, `The node was lost. ${reason}`)
        this.#detach()
        this.#grace = setTimeout(() => this.end(), graceMs)
      },
    })
    const { spares, helloMs } = this.#parts
    const dial = (count: number) => channel.send({ type: 'dial', count })
    this.#present = { channel, pool: new ConnectionPool({ spares, patienceMs: helloMs, dial }) }
  }

  send(message: GatewayMessage): void {
    this.#present?.channel.send(message)
  }

  /** Whether the node answers its control connection within some time. */
  async answersWithin(ms: number): Promise<boolean> {
    return (await this.#present?.channel.answersWithin(ms)) ?? false
  }

  /** Takes a data connection that the node has opened. */
  addConnection(socket: TLSSocket): void {
    if (this.#present === null) socket.destroy()
    else this.#present.pool.add(socket)
  }

  /**
   * Leads a client to the node. The bytes of the client that have been read must be back in its stream.
   *
   * @param url the URL by which the client came
   * @returns why the node does not get it; then the caller answers the client
   */
  async lead(client: Socket, line: ClientLine, url: string): Promise<Refusal | null> {
    const { idleMs, maxConnections } = this.#parts
    if (this.#present === null) return 'away'
    const { pool } = this.#present
    if (this.#clients.size + pool.waiting >= maxConnections) return 'busy'
    const socket = await pool.take(client)
    if (client.destroyed) {
      if (socket !== null) pool.giveBack(socket)
      return null
    }
    if (socket === null) return 'away'
    this.#clients.add(client)
    client.once('close', () => this.#clients.delete(client))
    socket.once('data', () => this.answeredAt.set(url, performance.now()))
    socket.write(writeLine(line))
    relay(client, socket, idleMs)
    this.#rate?.count(client, socket)
    return null
  }

  /** Ends the session: the process of the node is gone, or another one takes its place. */
  end(last?: GatewayMessage): void {
    this.#detach()?.close(last)
    clearTimeout(this.#grace)
    for (const client of this.#clients) cut(client)
    this.#parts.onGone()
  }

  /** @returns the control connection, which is not the one of the session any more */
  #detach(): Channel | undefined {
    const present = this.#present
    if (present === null) return undefined
    this.#present = null
    present.pool.close()
    this.#parts.onAway()
    return present.channel
  }
}
