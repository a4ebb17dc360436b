import { once } from 'node:events'
import { type AddressInfo, type BlockList, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import { isWithin, localProxyHeader } from '../connections/proxy-header.ts'

interface DialOptions {
  readonly url: URL
  /** Where the gateway listens for it. */
  readonly address: AddressInfo
  /** The proxies whose connections must begin with a header. The gateway itself may be one of them by its address. */
  readonly proxies: BlockList
  readonly signal: AbortSignal
}

/**
 * Connects to a listener of this gateway, as a client of a node does. The certificate is not checked: it may be of an authority that
 * only the people of the node know, and the node proves itself by what it answers.
 *
 * @throws Error with a sentence for the log of the node
 */
export async function dialAsClient({ url, address, proxies, signal }: DialOptions): Promise<Duplex> {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address.address] ?? address.address
  const socket = connect({ host, port: address.port })
  socket.on('error', () => {})
  try {
    await once(socket, 'connect', { signal })
    if (isWithin(proxies, host)) socket.write(localProxyHeader())
    if (url.protocol === 'http:') return socket
    const servername = url.hostname
    const inner = connectTls({ socket, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] })
    inner.on('error', () => {})
    await once(inner, 'secureConnect', { signal })
    return inner
  } catch (error) {
    socket.destroy()
    throw error
  }
}
