import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Log } from '@nodekeep/plugin-sdk'
import {
  type FirstLine,
  headLine,
  maxLineBytes,
  nodeIdOf,
  readFirstLine,
  readHead,
  type TunnelTls,
  tunnelProtocol,
} from '@nodekeep/plugin-sdk/tunnel'
import type { OpenConnections } from '../connections/open-connections.ts'
import type { ClientAddress } from '../connections/proxy-header.ts'

/** A connection of a node that has said who it is. */
export interface NodeConnection {
  readonly socket: TLSSocket
  readonly from: ClientAddress
  readonly nodeId: string
  readonly line: FirstLine
}

interface TunnelServerServices {
  readonly tls: TunnelTls
  /** Milliseconds for the handshake and the first line. */
  readonly helloMs: number
  /** Connections that have not been taken in yet. */
  readonly handshakes: OpenConnections
  readonly log: Log
  /** A node has said what its connection is for. Resolves when the gateway has taken the connection in, or refused it. */
  readonly onConnection: (connection: NodeConnection) => void | Promise<void>
}

/** Milliseconds of silence before the system asks whether the other side still exists. */
const keepAliveMs = 15_000

/** Finds out which node a connection is from and what it is for. It listens nowhere itself. */
export class TunnelServer {
  readonly #services: TunnelServerServices

  constructor(services: TunnelServerServices) {
    this.#services = services
  }

  /**
   * Takes a TCP connection whose client speaks the protocol of tunnels.
   *
   * @param from the address of the node
   */
  async accept(socket: Socket, from: ClientAddress): Promise<void> {
    const { tls, helloMs, handshakes, log, onConnection } = this.#services
    const leave = handshakes.enter(socket, from.address)
    if (leave === null) {
      socket.destroy()
      return
    }
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs)
    const inner = new TLSSocket(socket, { ...tls, isServer: true })
    // A failure also closes the connection.
    inner.on('error', () => {})
    try {
      const line = await readHead(inner, headLine, { maxBytes: maxLineBytes, withinMs: helloMs })
      const nodeId = nodeIdOf(inner)
      if (nodeId === null || inner.alpnProtocol !== tunnelProtocol)
        throw new Error('It shows no key of a node.')
      await onConnection({ socket: inner, from, nodeId, line: readFirstLine(line) })
    } catch (err) {
      inner.destroy()
      log.debug({ err, address: from.address }, 'A connection to the tunnel was refused.')
    } finally {
      leave()
    }
  }
}
