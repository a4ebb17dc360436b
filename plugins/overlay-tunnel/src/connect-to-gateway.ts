import { once } from 'node:events'
import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
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
/** Most milliseconds until another connection begins beside one that waits for its handshake. */
const otherMs = 2000
/** Milliseconds until such another connection is given up. */
const otherTimeoutMs = 4000
/** Milliseconds of silence before the system asks whether the other side still exists. It also keeps the place in a NAT. */
const keepAliveMs = 15_000

const noGateway = 'no gateway takes nodes there. Check the host and the port in "overlay-tunnel.gateway"'

/** The gateway or the network is away: nothing answers, or only a proxy that closes the connection before the handshake. */
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

/** A connection to the gateway, after the handshake. */
interface GatewayConnection {
  readonly socket: TLSSocket
  readonly gatewayId: string
}

/**
 * Opens a connection to the gateway and writes its first line.
 *
 * @throws GatewayUnreachable or another Error with a sentence for the log, or the signal's reason
 */
export async function connectToGateway(
  route: GatewayRoute,
  line: FirstLine,
  signal: AbortSignal,
): Promise<GatewayConnection> {
  // The gateway asks again for data connections that do not come.
  const connection = await (line.purpose === 'control' ? openSoon(route, signal) : open(route, signal))
  connection.socket.write(writeLine(line))
  return connection
}

/**
 * Opens a connection as soon as the gateway answers. A proxy in front of a gateway that is away may accept connections and never
 * answer them, not even when the gateway is back. So while the first connection waits, others begin. The first one keeps its place
 * at a gateway to which many nodes return at once.
 */
async function openSoon(route: GatewayRoute, signal: AbortSignal): Promise<GatewayConnection> {
  const over = new AbortController()
  const untilOver = AbortSignal.any([signal, over.signal])
  const attempts = [open(route, untilOver)]
  let found: GatewayConnection | undefined
  try {
    for (;;) {
      // Nodes that lost their gateway together come back apart.
      const nextMs = otherMs * (0.75 + Math.random() / 4)
      found = await Promise.race([...attempts, delay(nextMs, undefined, { ref: false })])
      if (found !== undefined) return found
      const other = open(route, AbortSignal.any([untilOver, AbortSignal.timeout(otherTimeoutMs)]))
      // Its failure says nothing about the first one.
      attempts.push(other.catch(() => new Promise(() => {})))
    }
  } finally {
    over.abort()
    for (const attempt of attempts) {
      attempt.then(
        (connection) => connection !== found && connection.socket.destroy(),
        () => {},
      )
    }
  }
}

async function open(
  { address, tls, checkId }: GatewayRoute,
  signal: AbortSignal,
): Promise<GatewayConnection> {
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
  const unanswered = (cause: Error): never => {
    throw signal.aborted ? cause : new GatewayUnreachable(cause.message, { cause })
  }
  try {
    await once(socket, 'connect').catch(unanswered)
    clearTimeout(timer)
    timer = limit(handshakeMs)
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs)
    await once(socket, 'secureConnect').catch((cause: NodeJS.ErrnoException) => {
      if (cause.code?.startsWith('ERR_SSL_') !== true) unanswered(cause)
      // The texts of OpenSSL tell nobody what to do.
      throw new Error(`${noGateway} (${cause.code})`, { cause })
    })
    if (socket.alpnProtocol !== tunnelProtocol) throw new Error(noGateway)
    return { socket, gatewayId: checkId(nodeIdOf(socket)) }
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}
