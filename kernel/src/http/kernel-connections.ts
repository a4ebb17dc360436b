import type { ClientConnection, ClientConnections } from '@nodekeep/plugin-sdk'
import { refuseConnection } from './handed-connection.ts'
import type { HttpServer } from './http-server.ts'

/** Gives connections that plugins hand over to the server that listens at the node's port. */
export class KernelConnections implements ClientConnections {
  #server: Pick<HttpServer, 'serve'> | null = null

  /** From now on, the connections are served. The server itself refuses them once it stops. */
  serveBy(server: Pick<HttpServer, 'serve'>): void {
    this.#server = server
  }

  serve(connection: ClientConnection): void {
    if (this.#server === null) refuseConnection(connection)
    else this.#server.serve(connection)
  }
}
