import type { Duplex } from 'node:stream'
import { defineService } from '../service.ts'

/** A connection of a client that reached the node by another way than the node's listening port. */
export interface ClientConnection {
  /**
   * The bytes between the client and the node. The next byte that the stream yields is the first one of HTTP/1.1. The service
   * owns the stream from now on, and destroys it at the end.
   */
  readonly socket: Duplex
  /** The IP address of the client. It counts for rate limits and the log, so take it from a party that you trust. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** Whether TLS protects the client's own connection, wherever that TLS ends. */
  readonly encrypted: boolean
  /**
   * The name that the client asked for when it opened the connection (TLS server name, RFC 6066), in lower case; `null` if it
   * named none. A request with another Host is refused with 421 (RFC 9110, section 15.5.20).
   */
  readonly serverName: string | null
}

/** Serves connections like those that arrive at the node's listening port. */
export interface ClientConnections {
  /**
   * Serves a connection: the routes, limits, time limits, WebSockets and the graceful stop are those of every connection. Before the
   * node serves, once it stops, and beyond `server.maxConnections`, the connection is destroyed.
   */
  serve(connection: ClientConnection): void
}

/** The kernel's service for connections of clients. */
export const Connections = defineService<ClientConnections>('connections', 1)
