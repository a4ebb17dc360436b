import type { Duplex } from 'node:stream'
import { defineService } from '../service.ts'

/** The state of the node in a network. */
export interface OverlayNetworkStatus {
  /** Whether clients can reach the node. A network says so only after it saw a connection from outside succeed. */
  readonly connected: boolean
  /** Whether a gateway passes connections on to the node. */
  readonly proxyEnabled: boolean
  /** The port that the gateway allocated for the node; 0 without one. */
  readonly allocatedPort: number
  /**
   * The origins by which clients reach the node, such as `https://me.example.org`, also before a connection from outside has succeeded:
   * a certificate for the name may still be on its way.
   */
  readonly origins: readonly string[]
  /**
   * Something that the owner of the node has to mend, in one word for the health report, such as `name-taken`; `null` if there is
   * nothing. The log has the reason.
   */
  readonly problem: string | null
}

/** A connection of a client that came through the network. */
export interface OverlayConnection {
  readonly socket: Duplex
  /** The IP address of the client, as the network saw it. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** The first bytes: a request of HTTP/1.1, or a ClientHello of TLS that the node answers itself. */
  readonly protocol: 'http' | 'tls'
  /** Whether TLS protects the client's own connection. True for the protocol `tls`. */
  readonly encrypted: boolean
  /** The TLS server name that the client asked for, in lower case; `null` without one. */
  readonly serverName: string | null
}

/** The abilities that a node offers its network. */
export interface OverlayNode {
  /** Whether the node ends TLS itself: the network then passes each ClientHello for the node's names on. */
  readonly endsTls: boolean
  /** Serves a connection. The node owns its socket from now on. */
  serve(connection: OverlayConnection): void
  /** The status of the network has changed. */
  statusChanged(): void
}

/** A network through which clients reach the node from outside. */
export interface OverlayNetwork {
  /** Whether the configuration names a network. Otherwise the node does not join, and nothing warns that it is not connected. */
  readonly isConfigured: boolean
  /** Throws never. Before {@link join}, nothing is connected. */
  status(): OverlayNetworkStatus
  /**
   * Joins the network, and joins again after each loss, until the signal is aborted. Then it tells the network that the node
   * leaves, and resolves. Connections that are being served are not cut.
   */
  join(node: OverlayNode, signal: AbortSignal): Promise<void>
}

/** The overlay network. */
export const Overlay = defineService<OverlayNetwork>('overlay', 1)
