import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import {
  type FirstLine,
  nodeIdOf,
  type TunnelTls,
  tunnelProtocol,
  writeLine,
} from '@nodekeep/plugin-sdk/tunnel'
import type { GatewayAddress } from './gateway-address.ts'

/** Milliseconds for TCP. A lost packet is sent again after 1 s and then after 3 s; a new connection is sooner. */
const connectMs = 2000
/** Milliseconds for TLS. A gateway to which many nodes return at once takes its time. */
const handshakeMs = 15_000
/** Milliseconds of silence before the system asks whether the other side still exists. It also keeps the place in a NAT. */
const keepAliveMs = 15_000

const noGateway = 'no gateway takes nodes there. Check the host and the port in "overlay-tunnel.gateway"'

/** Nothing answers at the address of the gateway: the gateway or the network is away. */
export class GatewayUnreachable extends Error {
  override readonly name = 'GatewayUnreachable'
}

/** The means to reach the gateway. */
export interface GatewayRoute {
  readonly address: GatewayAddress
  readonly tls: TunnelTls
  /** @throws Error if this is not the gateway to trust */
  readonly checkId: (id: string | null) => string
}

/**
 * Opens a connection to the gateway and writes its first line.
 *
 * @throws GatewayUnreachable or another Error with a sentence for the log, or the signal's reason
 */
export async function connectToGateway(
  { address, tls, checkId }: GatewayRoute,
  line: FirstLine,
  signal: AbortSignal,
): Promise<{ readonly socket: TLSSocket; readonly gatewayId: string }> {
  signal.throwIfAborted()
  const servername = isIP(address.host) === 0 ? address.host : ''
  const socket = connect({ ...tls, ...address, servername })
  // A failure also closes the connection, and that is what counts.
  socket.on('error', () => {})
  const abort = () => socket.destroy(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const limit = (ms: number) =>
    setTimeout(() => socket.destroy(new Error(`it did not answer within ${ms / 1000} s`)), ms)
  let timer = limit(connectMs)
  try {
    await once(socket, 'connect').catch((cause: Error) => {
      throw signal.aborted ? cause : new GatewayUnreachable(cause.message, { cause })
    })
    clearTimeout(timer)
    timer = limit(handshakeMs)
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs)
    await once(socket, 'secureConnect').catch((cause: NodeJS.ErrnoException) => {
      // The texts of OpenSSL tell nobody what to do.
      throw cause.code?.startsWith('ERR_SSL_') === true
        ? new Error(`${noGateway} (${cause.code})`, { cause })
        : cause
    })
    if (socket.alpnProtocol !== tunnelProtocol) throw new Error(noGateway)
    const gatewayId = checkId(nodeIdOf(socket))
    socket.write(writeLine(line))
    return { socket, gatewayId }
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
