import type { IncomingMessage } from 'node:http'
import { isIP, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ClientConnection } from '@nodekeep/plugin-sdk'
import { type PublicError, publicError } from '../errors/public-error.ts'
import { StreamSocket } from './stream-socket.ts'

/** The connections that plugins handed over, by the socket that the HTTP server has. */
const external = new WeakMap<Duplex, ClientConnection>()

/** Returns the facts about a connection that a plugin handed over, `undefined` for one that came by the node's port. */
export function externalConnectionOf({ socket }: { readonly socket: Duplex }): ClientConnection | undefined {
  return external.get(socket)
}

/**
 * Returns a socket for the HTTP server with the facts of the client's connection: its address, and whether it is encrypted. Node
 * parses the bytes of its own sockets (`net.Socket`, `tls.TLSSocket`) without passing them through JavaScript, so these stay as they
 * are. Every other stream becomes a {@link StreamSocket}.
 *
 * @throws TypeError if it cannot be served. The connection is destroyed then.
 */
export function attachConnection(connection: ClientConnection): Socket | StreamSocket {
  const { socket: stream, remoteAddress, remotePort, encrypted } = connection
  const version = isIP(remoteAddress)
  if (version === 0 || stream.readableObjectMode || stream.readableEncoding !== null) {
    refuseConnection(connection)
    throw new TypeError(
      version === 0
        ? '"remoteAddress" of a connection must be an IP address.'
        : '"socket" of a connection must yield bytes, without an encoding.',
    )
  }
  // The sockets of the port have both of these.
  stream.allowHalfOpen = true
  const socket = stream instanceof Socket ? stream.setNoDelay() : new StreamSocket(stream)
  const facts = { remoteAddress, remotePort, remoteFamily: `IPv${version}`, encrypted }
  for (const [name, value] of Object.entries(facts)) Object.defineProperty(socket, name, { value })
  external.set(socket, connection)
  return socket
}

/** Destroys a connection that is not served. */
export function refuseConnection({ socket }: ClientConnection): void {
  socket.on('error', () => {})
  socket.destroy()
}

/**
 * Removes the headers by which proxies name a client. The party that handed the connection over has named the client, and
 * passed its bytes on unread: these headers are the client's own.
 */
export function dropForwardedHeaders({ headers }: IncomingMessage): void {
  for (const name in headers) {
    if (name === 'forwarded' || name.startsWith('x-forwarded-')) delete headers[name]
  }
}

/** Returns the error of a request that names another host than its connection was opened for, otherwise `null`. */
export function misdirection(
  { serverName }: ClientConnection,
  { headers }: IncomingMessage,
): PublicError | null {
  const name = headers.host?.replace(/:\d*$/, '').toLowerCase()
  return serverName === null || serverName === name ? null : misdirected
}

const misdirected = publicError(
  'MISDIRECTED_REQUEST',
  'This connection was opened for another name than the "Host" of the request. Open a connection for that name.',
)
