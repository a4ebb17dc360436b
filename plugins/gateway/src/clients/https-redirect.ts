import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Addresses } from '../addresses/addresses.ts'
import type { Visit } from '../connections/public-listener.ts'
import { answer, noSuchNode } from './error-answers.ts'

/** Answers plain HTTP: with the address of https for names of nodes and of the gateway, and with nothing else. */
export class HttpsRedirect {
  readonly #addresses: Addresses
  readonly #server: Server

  /** @param requestMs the time for a request */
  constructor(addresses: Addresses, requestMs: number) {
    this.#addresses = addresses
    this.#server = createServer(
      {
        headersTimeout: requestMs,
        requestTimeout: requestMs,
        connectionsCheckingInterval: 1000,
        keepAliveTimeout: 1,
      },
      (request, response) => this.#redirect(request, response),
    )
    this.#server.on('clientError', (_error, socket) => socket.destroy())
  }

  serve({ socket }: Visit): void {
    this.#server.emit('connection', socket)
  }

  #redirect({ headers, url = '/' }: IncomingMessage, response: ServerResponse): void {
    const host = URL.parse(`http://${headers.host}`)?.hostname ?? ''
    const isKnown = host === this.#addresses.domain || this.#addresses.ownerOf(host) !== null
    if (!isKnown || !url.startsWith('/')) {
      answer(response, noSuchNode())
      return
    }
    response.writeHead(308, { location: this.#addresses.httpsUrl(host) + url, connection: 'close' }).end()
  }
}
