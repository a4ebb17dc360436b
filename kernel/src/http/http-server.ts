import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type PublicError, publicError } from '../errors/public-error.ts'
import { clientError } from './client-error.ts'
import { Connections } from './connections.ts'
import { answerDirectly, answerOnSocket } from './direct-answer.ts'
import { hostProblem } from './host-header.ts'
import { createServer } from './node-http.ts'
import type { RequestHandler, RouteTable } from './route-table.ts'

export interface HttpServerOptions {
  readonly table: RouteTable
  /** Answers what the table knows no route for. */
  readonly unmatched: RequestHandler
  readonly nextRequestId: () => string
  readonly headersTimeoutMs: number
  readonly keepAliveTimeoutMs: number
  /** How long nothing may move on a connection. It ends those who ask and never read what they are answered. */
  readonly stallTimeoutMs: number
  readonly maxConnections: number
}

/** The node's only listening server. It hands each request to the plugin that the route table names. */
export class HttpServer {
  readonly #options: HttpServerOptions
  readonly #server: Server
  readonly #connections = new Connections()
  #stalls: NodeJS.Timeout | undefined

  constructor(options: HttpServerOptions) {
    this.#options = options
    this.#server = createServer({
      headersTimeout: options.headersTimeoutMs,
      keepAliveTimeout: options.keepAliveTimeoutMs,
      // Each route limits the time of its body by itself: a single limit would cut long uploads.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, options.headersTimeoutMs),
      // Node would answer a request without "Host" by itself, in another form than the node's.
      requireHostHeader: false,
      shouldUpgradeCallback: ({ method, headers }) =>
        method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket',
    })
    this.#server.maxConnections = options.maxConnections
    this.#server.on('connection', (socket: Socket) => this.#connections.add(socket))
    this.#server.on('request', (request, response) => this.#handle(request, response))
    // Whether the body is wanted at all is decided on the way to the route, which then asks for it.
    this.#server.on('checkContinue', (request, response) => this.#handle(request, response))
    this.#server.on('checkExpectation', (request, response) => this.#handle(request, response))
    this.#server.on('upgrade', (request, socket, head) =>
      this.#connections.whenAnswered(request.socket, () => this.#upgrade(request, socket, head)),
    )
    this.#server.on('connect', (request, socket) =>
      this.#connections.whenAnswered(request.socket, () => this.#refuse(socket, noTunnels)),
    )
    this.#server.on('clientError', (error, socket) => this.#fail(error, socket))
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
    const { stallTimeoutMs } = this.#options
    this.#stalls = setInterval(
      () => this.#connections.limitStalls(stallTimeoutMs),
      stallTimeoutMs / 8,
    ).unref()
    return this.#server.address() as AddressInfo
  }

  /** Takes no more connections, lets requests finish for so long, then ends what is left. */
  async close(drainMs: number): Promise<void> {
    if (!this.#server.listening) return
    clearInterval(this.#stalls)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#server.close(() => resolve())
    const sweep = setInterval(() => this.#server.closeIdleConnections(), 20)
    const limit = setTimeout(() => this.#connections.destroyAll(), drainMs)
    await promise
    clearInterval(sweep)
    clearTimeout(limit)
    this.#connections.destroyAll()
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    this.#connections.began(response)
    const problem = hostProblem(request)
    if (problem !== null) {
      answerDirectly(response, problem, this.#options.nextRequestId())
      return
    }
    const found = this.#options.table.find(request.method ?? 'GET', request.url ?? '/')
    if (found === null) this.#options.unmatched(request, response)
    else found.mount.handle(request, response)
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const problem = hostProblem(request)
    if (problem !== null) {
      this.#refuse(socket, problem)
      return
    }
    const found = this.#options.table.find('GET', request.url ?? '/')
    if (found?.route.websocket !== true || !found.mount.upgrade(request, socket, head)) {
      this.#refuse(socket, noWebSocket)
    }
  }

  #refuse(socket: Duplex, error: PublicError): void {
    answerOnSocket(socket, error, this.#options.nextRequestId())
  }

  #fail(cause: NodeJS.ErrnoException, socket: Duplex): void {
    const error = clientError(cause)
    if (error === null) socket.destroy()
    else this.#connections.failed(socket, error, () => this.#refuse(socket, error))
  }
}

const noTunnels = publicError('METHOD_NOT_ALLOWED', 'The node is no proxy: CONNECT is not possible.', {
  allow: '',
})
const noWebSocket = publicError('NOT_FOUND', 'There is no WebSocket at this path.')
