import type { ClientConnection, ClientConnections } from '@nodekeep/plugin-sdk'
import type { PublicError } from '../errors/public-error.ts'
import { refuseConnection } from './handed-connection.ts'
import type { HttpServer } from './http-server.ts'

/** The connections of the server that listens at the node's port, for plugins. Some plugins hand over further ones. */
export class KernelConnections implements ClientConnections {
  #server: Pick<HttpServer, 'serve' | 'drain'> | null = null

  /** From now on, connections that are handed over are served. The server itself refuses them once it stops. */
  serveBy(server: Pick<HttpServer, 'serve' | 'drain'>): void {
    this.#server = server
  }

  serve(connection: ClientConnection): void {
    if (this.#server === null) refuseConnection(connection)
    else this.#server.serve(connection)
  }

  /** See {@link HttpServer.drain}. Before the server listens, there is nothing to wait for. */
  async drain(owner: string, ms: number, error: PublicError): Promise<void> {
    await this.#server?.drain(owner, ms, error)
  }
}
