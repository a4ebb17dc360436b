import { type AddressInfo, type BlockList, createServer, type Server, type Socket } from 'node:net'
import type { Log } from '@nodekeep/plugin-sdk'
import { readHead } from '@nodekeep/plugin-sdk/tunnel'
import { listen } from './listen.ts'
import type { OpenConnections } from './open-connections.ts'
import {
  type ClientAddress,
  isWithin,
  maxProxyHeaderBytes,
  plainAddress,
  proxyHeader,
} from './proxy-header.ts'

/** All listeners for clients share these. */
export interface ListenerServices {
  /** Addresses of proxies whose connections begin with a header of the PROXY protocol. */
  readonly proxies: BlockList
  readonly open: OpenConnections
  readonly helloMs: number
  readonly log: Log
}

/** A connection whose client is known. Its next byte is the first one that the client sent. */
export interface Visit {
  readonly socket: Socket
  readonly client: ClientAddress
  /** Ends the count as a client. The end of the connection does the same. */
  leave(): void
}

/** A port on which clients of nodes arrive. */
export class PublicListener {
  readonly #services: ListenerServices
  readonly #handle: (visit: Visit) => void | Promise<void>
  readonly #server: Server

  constructor(services: ListenerServices, handle: (visit: Visit) => void | Promise<void>) {
    this.#services = services
    this.#handle = handle
    this.#server = createServer({ allowHalfOpen: true, noDelay: true })
    this.#server.on('connection', (socket) => void this.#receive(socket))
  }

  /**
   * Begins to listen.
   *
   * @param host empty for all addresses
   * @throws Error of the system, such as EADDRINUSE
   */
  async listen(host: string, port: number): Promise<void> {
    await listen(this.#server, host, port)
  }

  /** The address and port in use; `null` while it does not listen. */
  get address(): AddressInfo | null {
    return this.#server.address() as AddressInfo | null
  }

  /** Takes no more connections. Those that are there go on. */
  close(): void {
    this.#server.close()
  }

  async #receive(socket: Socket): Promise<void> {
    const { proxies, helloMs, log } = this.#services
    // A failure also closes the connection.
    socket.on('error', () => {})
    const { remoteAddress, remotePort: port = 0 } = socket
    if (remoteAddress === undefined) {
      socket.destroy()
      return
    }
    const address = plainAddress(remoteAddress)
    try {
      const client = isWithin(proxies, address)
        ? await readHead(socket, proxyHeader, { maxBytes: maxProxyHeaderBytes, withinMs: helloMs })
        : null
      const leave = this.#services.open.enter(socket, client?.address ?? address)
      if (leave === null) {
        socket.resetAndDestroy()
        return
      }
      await this.#handle({ socket, client: client ?? { address, port }, leave })
    } catch (err) {
      socket.destroy()
      log.debug({ err, address }, 'A connection of a client was refused.')
    }
  }
}
