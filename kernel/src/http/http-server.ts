import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { publicError } from '../errors/public-error.ts'
import { clientError } from './client-error.ts'
import { answerOnSocket } from './direct-answer.ts'
import type { RequestHandler, RouteTable } from './route-table.ts'

export interface HttpServerOptions {
  readonly table: RouteTable
  /** Answers what the table knows no route for. */
  readonly unmatched: RequestHandler
  readonly nextRequestId: () => string
  readonly headersTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  readonly maxConnections: number
}

/** The node's only listening server. It hands each request to the plugin that the route table names. */
export class HttpServer {
  readonly #options: HttpServerOptions
  readonly #server: Server
  readonly #sockets = new Set<Duplex>()

  constructor(options: HttpServerOptions) {
    this.#options = options
    this.#server = createServer({
      headersTimeout: options.headersTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      // Each route limits the time of its body by itself: a single limit would cut long uploads.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
      shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
    })
    this.#server.maxConnections = options.maxConnections
    this.#server.on('request', (request, response) => this.#handle(request, response))
    this.#server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
    this.#server.on('connect', (_request, socket) => this.#refuse(socket, noTunnels))
    this.#server.on('checkExpectation', (request, response) => this.#handle(request, response))
    this.#server.on('clientError', (error, socket) => this.#refuse(socket, clientError(error)))
    this.#server.on('connection', (socket) => this.#track(socket))
  }

  /**
   * Begins to listen.
   *
   * @returns where it really listens, with the port that was chosen for 0
   */
  async listen(host: string, port: number): Promise<AddressInfo> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject).listen({ host, port }, resolve)
    await promise
    this.#server.off('error', reject)
    return this.#server.address() as AddressInfo
  }

  /** Takes no more connections, lets requests finish for so long, then ends what is left. */
  async close(drainMs: number): Promise<void> {
    if (!this.#server.listening) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 20)
    const limit = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, drainMs)
    await promise
    clearInterval(sweep)
    clearTimeout(limit)
    for (const socket of this.#sockets) socket.destroy()
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const mount = this.#options.table.find(request.method ?? 'GET', request.url ?? '/')
    if (mount === null) this.#options.unmatched(request, response)
    else mount.handle(request, response)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const mount = this.#options.table.find('GET', request.url ?? '/')
    if (mount === null || !mount.upgrade(request, socket, head)) this.#refuse(socket, noWebSocket)
  }

  #refuse(socket: Duplex, error: ReturnType<typeof clientError>): void {
    if (error === null) socket.destroy()
    else answerOnSocket(socket, error, this.#options.nextRequestId())
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
  }
}

const noTunnels = publicError('METHOD_NOT_ALLOWED', 'The node is no proxy: CONNECT is not possible.', {
  allow: '',
})
const noWebSocket = publicError('NOT_FOUND', 'There is no WebSocket at this path.')
