import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Addresses } from '../addresses/addresses.ts'
import type { Visit } from '../connections/public-listener.ts'
import { answer, noSuchNode } from './error-answers.ts'
import { SingleResponseServer } from './single-response-server.ts'

/** Answers plain HTTP: with the address of https for names of nodes and of the gateway, and with nothing else. */
export class HttpsRedirect {
  readonly #addresses: Addresses
  readonly #server: SingleResponseServer

  /** @param ms the time for a request and its answer */
  constructor(addresses: Addresses, ms: number) {
    this.#addresses = addresses
    this.#server = new SingleResponseServer(ms, (request, response) => this.#redirect(request, response))
  }

  serve({ socket }: Visit): void {
    this.#server.serve(socket)
  }

  #redirect({ headers, url = '/' }: IncomingMessage, response: ServerResponse): void {
    const host = URL.parse(`http://${headers.host}`)?.hostname ?? ''
    const isKnown = host === this.#addresses.domain || this.#addresses.isTaken(host)
    if (!isKnown || !url.startsWith('/')) {
      answer(response, noSuchNode())
      return
    }
    response.writeHead(308, { location: this.#addresses.httpsUrl(host) + url }).end()
  }
}
