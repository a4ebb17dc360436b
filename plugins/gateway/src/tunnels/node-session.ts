import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import {
  type ClientLine,
  ControlChannel,
  type GatewayMessage,
  type NodeMessage,
  readNodeMessage,
  writeLine,
} from '@nodekeep/plugin-sdk/tunnel'
import { ByteRate } from '../connections/byte-rate.ts'
import { cut } from '../connections/cut.ts'
import { relay } from '../connections/relay.ts'
import { ConnectionPool } from './connection-pool.ts'
import type { NodeLog } from './node-log.ts'

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

/** The limits of a session. */
export interface SessionLimits {
  readonly spares: number
  readonly maxConnections: number
  readonly helloMs: number
  readonly idleMs: number
  /** All connections of the node together; `null` without a limit. */
  readonly bytesPerSecond: number | null
}

interface SessionServices {
  readonly nodeLog: NodeLog
  /** The node takes no clients any more. */
  readonly onEnd: () => void
}

/** Milliseconds without an answer after which a client counts as one that waits in vain. */
const inVainMs = 3000

/** The events of the clients of a node, with the URL by which they came. */
interface ClientEvents {
  /** A client has its first bytes from the node. */
  answered: [url: string]
  /** A client has come some seconds ago, and has no answer. It may have left. */
  unanswered: [url: string]
}

/** Why a client cannot be forwarded to a node. */
type Refusal = 'away' | 'busy'

/**
 * A node at the gateway, as long as its control connection lives: the connections that it holds ready, and the clients that are
 * forwarded to it. When the node is lost, so are its clients: their connections would stay open, and silent, for long.
 */
export class NodeSession {
  readonly process: NodeProcess
  /** When the node answered a client, by the URL of the client. */
  readonly answeredAt = new Map<string, number>()
  readonly clientEvents = new EventEmitter<ClientEvents>().setMaxListeners(0)
  readonly #limits: SessionLimits
  readonly #onEnd: () => void
  readonly #rate: ByteRate | null
  readonly #clients = new Set<Socket>()
  readonly #channel: ControlChannel<GatewayMessage, NodeMessage>
  readonly #pool: ConnectionPool
  #isOver = false

  /** @param socket the control connection */
  constructor(
    socket: TLSSocket,
    process: NodeProcess,
    limits: SessionLimits,
    { nodeLog, onEnd }: SessionServices,
  ) {
    this.process = process
    this.#limits = limits
    this.#onEnd = onEnd
    this.#rate = limits.bytesPerSecond === null ? null : new ByteRate(limits.bytesPerSecond)
    this.#channel = new ControlChannel(socket, {
      read: readNodeMessage,
      // It leaves. Its clients may finish.
      onMessage: () => this.#close(),
      onEnd: (reason) => {
        nodeLog.write('info', process, `The node was lost. ${reason}`)
        this.end()
      },
    })
    const { spares, helloMs } = limits
    const dial = (count: number) => this.#channel.send({ type: 'dial', count })
    this.#pool = new ConnectionPool(dial, { spares, waitMs: helloMs })
  }

  send(message: GatewayMessage): void {
    this.#channel.send(message)
  }

  /** Whether the node answers its control connection within some time. */
  async answersWithin(ms: number): Promise<boolean> {
    return this.#channel.answersWithin(ms)
  }

  /** Takes a data connection that the node has opened. */
  addConnection(socket: TLSSocket): void {
    this.#pool.add(socket)
  }

  /**
   * Forwards a client to the node. The bytes of the client that have been read must be back in its stream.
   *
   * @param url the URL by which the client came
   * @returns why the node does not get it; then the caller answers the client
   */
  async forward(client: Socket, line: ClientLine, url: string): Promise<Refusal | null> {
    const { idleMs, maxConnections } = this.#limits
    if (this.#isOver) return 'away'
    if (this.#clients.size + this.#pool.waiting >= maxConnections) return 'busy'
    const unanswered = setTimeout(() => this.clientEvents.emit('unanswered', url), inVainMs).unref()
    const socket = await this.#pool.take(client)
    if (client.destroyed) {
      if (socket !== null) this.#pool.giveBack(socket)
      return null
    }
    if (socket === null) return 'away'
    this.#clients.add(client)
    client.once('close', () => this.#clients.delete(client))
    socket.once('data', () => {
      clearTimeout(unanswered)
      this.answeredAt.set(url, performance.now())
      this.clientEvents.emit('answered', url)
    })
    socket.write(writeLine(line))
    relay(client, socket, { idleMs, rate: this.#rate })
    return null
  }

  /** Ends the session and cuts the clients: the node is gone, or another process takes its place. */
  end(last?: GatewayMessage): void {
    this.#close(last)
    for (const client of this.#clients) cut(client)
  }

  #close(last?: GatewayMessage): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pool.close()
    this.#channel.close(last)
    this.#onEnd()
  }
}
