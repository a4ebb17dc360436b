import { once } from 'node:events'
import { type AddressInfo, type BlockList, connect } from 'node:net'
import type { Duplex } from 'node:stream'
import { isWithin, localProxyHeader } from '../connections/proxy-header.ts'
import { startTls } from '../connections/start-tls.ts'

interface DialOptions {
  readonly url: URL
  /** Where the gateway listens for it. */
  readonly address: AddressInfo
  /** The proxies whose connections must begin with a header. The gateway itself may be one of them by its address. */
  readonly proxies: BlockList
  readonly signal: AbortSignal
}

/**
 * Connects to a listener of this gateway, as a client of a node does.
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
    return url.protocol === 'http:' ? socket : await startTls(socket, url.hostname, signal)
  } catch (error) {
    socket.destroy()
    throw error
  }
}
