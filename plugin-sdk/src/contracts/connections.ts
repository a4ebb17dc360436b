import type { Duplex } from 'node:stream'
import { defineService } from '../service.ts'

/** A connection of a client that reached the node by another way than the node's listening port. */
export interface ClientConnection {
  /**
   * The bytes between the client and the node. The next byte that the stream yields is the first one of HTTP/1.1. It may be
   * paused, and it may have bytes in its buffer. Remove your listeners and time limits first: the service owns the stream
   * from now on, and destroys it at the end. Node's own sockets (`net.Socket`, `tls.TLSSocket`) are served fastest.
   */
  readonly socket: Duplex
  /**
   * The IP address of the client: `request.ip`. It counts for rate limits and the log, so take it from a party that you trust.
   * The node ignores `x-forwarded-*` and `forwarded` on such connections, whatever `server.trustedProxies` says.
   */
  readonly remoteAddress: string
  readonly remotePort: number
  /** Whether TLS protects the client's own connection, wherever that TLS ends. Without it, nobody can sign in. */
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
   * Serves a connection: the routes, limits, time limits, WebSockets and the graceful stop are those of every connection. Only
   * the names for home, such as `127.0.0.1`, do not count as origins of the node. Before the node serves, once it stops, and
   * beyond `server.maxConnections`, the connection is destroyed.
   *
   * @throws TypeError if the address is no IP address, or the stream has an encoding or yields objects. The connection is
   * destroyed then.
   */
  serve(connection: ClientConnection): void
}

/** The kernel's service for connections of clients. */
export const Connections = defineService<ClientConnections>('connections', 1)
