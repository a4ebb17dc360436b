import type { TLSSocket } from 'node:tls'
import type { Log, OverlayNode } from '@nodekeep/plugin-sdk'
import { headLine, maxLineBytes, readClientLine, readHead } from '@nodekeep/plugin-sdk/tunnel'
import { connectToGateway, type GatewayRoute } from './connect-to-gateway.ts'

/** Handshakes at a time. More would only make each of them slower. */
const maxOpening = 64

export interface DataConnectionsServices {
  readonly route: GatewayRoute
  readonly instance: string
  readonly node: OverlayNode
  readonly maxConnections: number
  readonly log: Log
}

/** The data connections of a node: each waits for one client and then belongs to the node, which serves it. */
export class DataConnections {
  readonly #services: DataConnectionsServices
  readonly #signal: AbortSignal
  /** Those that the gateway asked for, and that are not being opened yet. */
  #wanted = 0
  #opening = 0
  readonly #waiting = new Set<TLSSocket>()
  readonly #serving = new Set<TLSSocket>()

  constructor(services: DataConnectionsServices, signal: AbortSignal) {
    this.#services = services
    this.#signal = signal
  }

  /** Opens connections, as the gateway asked. It opens no more than the configuration allows. */
  open(count: number): void {
    const taken = this.#opening + this.#waiting.size + this.#serving.size
    this.#wanted = Math.min(this.#wanted + count, this.#services.maxConnections - taken)
    while (this.#wanted > 0 && this.#opening < maxOpening) {
      this.#wanted -= 1
      void this.#open()
    }
  }

  /** Closes the connections that wait for a client. */
  closeWaiting(): void {
    for (const socket of this.#waiting) socket.destroy()
  }

  /** Closes all connections. Those of clients are lost with the gateway, which no byte may tell. */
  close(): void {
    this.closeWaiting()
    for (const socket of this.#serving) socket.destroy()
  }

  async #open(): Promise<void> {
    const { route, instance, log } = this.#services
    const signal = this.#signal
    this.#opening += 1
    try {
      const { socket } = await connectToGateway(route, { purpose: 'data', instance }, signal)
      this.#waiting.add(socket)
      socket.once('close', () => {
        this.#waiting.delete(socket)
        this.#serving.delete(socket)
      })
      void this.#await(socket)
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, 'A data connection to the gateway could not be opened.')
    } finally {
      this.#opening -= 1
      if (!signal.aborted) this.open(0)
    }
  }

  /** Waits for the client of a connection. It may come hours later. */
  async #await(socket: TLSSocket): Promise<void> {
    const { node, log } = this.#services
    try {
      const line = await readHead(socket, headLine, { maxBytes: maxLineBytes })
      const { address, port, ...client } = readClientLine(line)
      this.#waiting.delete(socket)
      this.#serving.add(socket)
      node.serve({ socket, remoteAddress: address, remotePort: port, ...client })
    } catch (err) {
      this.#waiting.delete(socket)
      socket.destroy()
      log.trace({ err }, 'A data connection to the gateway ended before it had a client.')
    }
  }
}
