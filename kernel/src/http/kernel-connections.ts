import type { ClientConnection, ClientConnections } from '@nodekeep/plugin-sdk'
import type { PublicError } from '../errors/public-error.ts'
import { refuseConnection } from './external-connection.ts'
import type { HttpServer } from './http-server.ts'

/** The connections of the node's servers, and those that plugins hand over. */
export class KernelConnections implements ClientConnections {
  readonly #servers: Pick<HttpServer, 'drain'>[] = []
  #server: Pick<HttpServer, 'serve'> | null = null

  /** Adds a server that answers for plugins: at the node's port, or at the socket of a trial. */
  add(server: Pick<HttpServer, 'drain'>): void {
    this.#servers.push(server)
  }

  /** From now on, connections that are handed over are served. The server itself refuses them once it stops. */
  serveBy(server: Pick<HttpServer, 'serve'>): void {
    this.#server = server
  }

  serve(connection: ClientConnection): void {
    if (this.#server === null) refuseConnection(connection)
    else this.#server.serve(connection)
  }

  /** See {@link HttpServer.drain}. */
  async drain(owner: string, ms: number, error: PublicError): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.drain(owner, ms, error)))
  }
}
