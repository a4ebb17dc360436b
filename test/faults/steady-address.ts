import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** An address that stays the same while the node behind it is killed and starts again at another port. */
export class SteadyAddress {
  readonly #server = createServer((client) => this.#forward(client))
  readonly #sockets = new Set<Socket>()
  /** The port of the node; `null` while none runs. */
  port: number | null = null

  async open(): Promise<URL> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return new URL(`http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`)
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }

  #forward(client: Socket): void {
    if (this.port === null) return void client.destroy()
    const node = connect(this.port, '127.0.0.1')
    for (const [socket, other] of [
      [client, node],
      [node, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.setNoDelay()
      // The other end learns of a broken connection by its close.
      socket.on('error', () => {})
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }
}
