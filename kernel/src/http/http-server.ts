import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type AddressInfo, type ListenOptions, Server as SocketServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClientConnection, withTimeLimit } from '@nodekeep/plugin-sdk'
import type { KernelConfiguration } from '../configuration/kernel-schema.ts'
import { type PublicError, publicError } from '../errors/public-error.ts'
import { Connection } from './connection.ts'
import {
  attachConnection,
  dropForwardedHeaders,
  externalConnectionOf,
  misdirection,
  refuseConnection,
} from './external-connection.ts'
import { createServer } from './node-http.ts'
import { announcesBody } from './request-body.ts'
import type { RequestHandler, RouteTable } from './route-table.ts'
import { UnreadAnswers } from './unread-answers.ts'
import { writeError, writeErrorToSocket } from './write-error.ts'

interface HttpServerOptions {
  readonly table: RouteTable
  /** Answers requests that the table has no route for. */
  readonly unmatched: RequestHandler
  readonly nextRequestId: () => string
  readonly settings: KernelConfiguration['server']
}

/**
 * The number of connections that may wait in the system's queue, where clients wait while another release starts. Beyond it, they try
 * again after a second, then two, then four. The system may have a lower limit.
 */
const backlog = 4096

/** A request that is in work for less than this is not waited for, in milliseconds. */
const briefMs = 300

/** Milliseconds that a connection has for its first request when the server closes. */
const firstRequestMs = 500

/** Milliseconds that a refused client has to receive the answer when the server closes. */
const refusalMs = 500

/** A listening server of the node. It hands each request to the plugin that the route table names. */
export class HttpServer {
  readonly #options: HttpServerOptions
  readonly #server: Server
  readonly #connections = new Map<Duplex, Connection>()
  readonly #unreadAnswers = new UnreadAnswers(this.#connections)
  /** Runs work in the context of the server itself. */
  readonly #inOwnContext = AsyncLocalStorage.snapshot()

  constructor(options: HttpServerOptions) {
    this.#options = options
    const { headersTimeoutSeconds, keepAliveTimeoutSeconds, stallTimeoutSeconds, maxConnections } =
      options.settings
    const headersTimeout = headersTimeoutSeconds * 1000
    this.#server = createServer({
      headersTimeout,
      keepAliveTimeout: keepAliveTimeoutSeconds * 1000,
      // Each route limits the time of its body: a single limit would cut long uploads.
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(1000, headersTimeout),
      // Node would refuse a request without "Host" in a form of its own.
      requireHostHeader: false,
      shouldUpgradeCallback: ({ method, headers }) =>
        method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket',
    })
    // A connection without any traffic for this long is closed, such as one whose client does not read its answer.
    this.#server.timeout = stallTimeoutSeconds * 1000
    this.#server.maxConnections = maxConnections
    const receive = (request: IncomingMessage, response: ServerResponse) =>
      this.#connections.get(request.socket)?.receive(response)
    this.#server.on('connection', (socket: Duplex) => this.#connect(socket))
    this.#server.on('request', receive)
    // The hooks before the route decide whether the body is wanted, and then ask for it.
    this.#server.on('checkContinue', receive)
    this.#server.on('checkExpectation', receive)
    // With a body in the request, the second argument of these events is not the socket.
    this.#server.on('upgrade', (request, _stream, head) =>
      this.#connections.get(request.socket)?.endWith(() => this.#upgrade(request, request.socket, head)),
    )
    this.#server.on('connect', ({ socket }) =>
      this.#connections.get(socket)?.endWith(() => this.#refuse(socket, noTunnels)),
    )
    this.#server.on('clientError', (error, socket) => this.#fail(error, socket))
  }

  /**
   * Begins to listen.
   *
   * @param where the path of a socket to make, or a bound socket, itself or its descriptor
   * @returns the address and port in use, with the port that the system chose for 0; the path of a socket
   */
  async listen(where: ListenOptions | { readonly fd: number }): Promise<AddressInfo | string> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject).listen(where, backlog, resolve)
    await promise
    this.#server.off('error', reject)
    return this.#server.address() ?? ''
  }

  /**
   * Serves a connection that a plugin hands over, like one that the server has accepted itself. Both kinds share the limit of
   * connections. Before the server listens, once it closes, and beyond the limit, the connection is destroyed.
   *
   * @throws TypeError if the connection cannot be served. It is destroyed then.
   */
  serve(connection: ClientConnection): void {
    const { maxConnections } = this.#options.settings
    if (!this.#server.listening || this.#connections.size >= maxConnections) {
      refuseConnection(connection)
      return
    }
    if (connection.socket.destroyed) return
    // The requests of the connection are not work of the plugin that handed it over.
    this.#inOwnContext(() => {
      const socket = attachConnection(connection)
      // Node counts the connections that it has accepted.
      this.#server.maxConnections -= 1
      socket.once('close', () => {
        this.#server.maxConnections += 1
      })
      this.#server.emit('connection', socket)
      // Listeners do not make a stream flow that was paused on purpose.
      socket.resume()
    })
  }

  /**
   * Waits, while the server goes on, until no request is in work for 300 ms or more: its body arrives, or its answer has not
   * begun. So uploads count, and answers that stream do not.
   */
  async waitForRequests(waitMs: number, signal: AbortSignal): Promise<void> {
    const until = performance.now() + waitMs
    while (performance.now() < until && !signal.aborted) {
      const inWork = [...this.#connections.values()].some((connection) => connection.workMs > briefMs)
      if (!inWork) return
      await delay(50, undefined, { signal }).catch(() => {})
    }
  }

  /**
   * Waits until the routes of an owner have answered all their requests, but at most `ms` milliseconds. Then it answers the rest with
   * an error, or cuts them off if their answer has begun.
   */
  async drain(owner: string, ms: number, error: PublicError): Promise<void> {
    const answers = [...this.#connections].flatMap(([socket, connection]) =>
      connection.owner === owner && connection.current
        ? [{ socket, connection, response: connection.current }]
        : [],
    )
    const all = Promise.all(answers.map(({ response }) => closed(response)))
    const late = 'Some requests are not answered yet.'
    const open = () => answers.filter(({ connection, response }) => connection.current === response)
    await withTimeLimit(all, ms, late).catch(async () => {
      for (const { socket, connection } of open()) this.#end([socket, connection], error)
      // A route that does not read the body of its request never hears of the error.
      await withTimeLimit(all, refusalMs, late).catch(() => {
        for (const { socket, response } of open()) {
          if (response.headersSent) socket.destroy()
          else writeError(response, error, this.#options.nextRequestId())
        }
      })
    })
  }

  /**
   * Accepts no more connections, lets requests finish for `drainMs` milliseconds, refuses those whose answer has not begun, and closes
   * all connections.
   */
  async close(drainMs: number): Promise<void> {
    if (!this.#server.listening) return
    const { promise, resolve } = Promise.withResolvers<void>()
    // The method of HTTP servers would also close connections whose first request is still on its way.
    SocketServer.prototype.close.call(this.#server, () => resolve())
    const began = performance.now()
    const sweep = setInterval(() => {
      for (const connection of this.#connections.values()) connection.closeIfIdle()
      if (performance.now() - began > firstRequestMs) this.#server.closeIdleConnections()
    }, 20)
    let limit = setTimeout(() => {
      for (const connection of this.#connections) this.#end(connection, stopping)
      limit = setTimeout(() => this.#destroyAll(), refusalMs)
    }, drainMs)
    // Node waits only for the connections that it has accepted.
    await Promise.all([promise, ...[...this.#connections.keys()].map(closed)])
    clearInterval(sweep)
    clearTimeout(limit)
  }

  #connect(socket: Duplex): void {
    const external = externalConnectionOf({ socket })
    const connection: Connection = new Connection(socket, (response) =>
      this.#handle(connection, response, external),
    )
    this.#connections.set(socket, connection)
    this.#unreadAnswers.opened()
    socket.once('close', () => this.#connections.delete(socket))
  }

  #handle(connection: Connection, response: ServerResponse, external: ClientConnection | undefined): void {
    const request = response.req
    connection.owner = null
    const problem = prepare(request, external)
    if (problem !== null) {
      writeError(response, problem, this.#options.nextRequestId())
      return
    }
    const found = this.#options.table.find(request.method ?? 'GET', request.url ?? '/')
    if (found === null) this.#options.unmatched(request, response)
    else {
      connection.owner = found.mount.owner
      found.mount.handle(request, response)
    }
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const problem =
      prepare(request, externalConnectionOf(request)) ?? (announcesBody(request) ? upgradeBody : null)
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
    writeErrorToSocket(socket, error, this.#options.nextRequestId())
  }

  #fail(cause: NodeJS.ErrnoException, socket: Duplex): void {
    const error = clientError(cause)
    if (error === null) socket.destroy()
    else this.#connections.get(socket)?.malformed(error, () => this.#refuse(socket, error))
  }

  #end([socket, connection]: readonly [Duplex, Connection], error: PublicError): void {
    const write = (response: ServerResponse) => writeError(response, error, this.#options.nextRequestId())
    if (!connection.refuse(error, write)) socket.destroy()
  }

  #destroyAll(): void {
    for (const socket of this.#connections.keys()) socket.destroy()
  }
}

const stopping = publicError('SERVICE_UNAVAILABLE', 'The node is stopping. Try again in some seconds.', {
  connection: 'close',
  'retry-after': '5',
})
const noTunnels = publicError('METHOD_NOT_ALLOWED', 'The node is not a proxy: CONNECT is not possible.', {
  allow: '',
})
const upgradeBody = publicError('VALIDATION_ERROR', 'A request for a WebSocket must not have a body.')
const noWebSocket = publicError('NOT_FOUND', 'There is no WebSocket at this path.')
const noHost = publicError('VALIDATION_ERROR', 'The request has no "Host" header.', { connection: 'close' })
const manyHosts = publicError('VALIDATION_ERROR', 'The request has more than one "Host" header.', {
  connection: 'close',
})
const badTarget = publicError(
  'VALIDATION_ERROR',
  'The target of the request is neither a path nor an "http" URL.',
  {
    connection: 'close',
  },
)

/** Prepares a request for its route. Returns the error of a request that must not reach any route, otherwise `null`. */
function prepare(request: IncomingMessage, external: ClientConnection | undefined): PublicError | null {
  if (external !== undefined) dropForwardedHeaders(request)
  const problem = hostProblem(request) ?? takeAbsoluteTarget(request)
  return problem ?? (external === undefined ? null : misdirection(external, request))
}

/**
 * Makes an absolute target, such as `http://me.test/path`, a path. Its host counts in place of the header (RFC 9112, section 3.2.2), so
 * that everything behind the server checks the host that the client meant.
 *
 * @returns the error of a target that is not valid, otherwise `null`
 */
function takeAbsoluteTarget(request: IncomingMessage): PublicError | null {
  const { url = '/' } = request
  if (url.startsWith('/') || url === '*') return null
  const [, host, path = ''] = /^https?:\/\/([^/?#@]+)([/?#].*)?$/i.exec(url) ?? []
  if (host === undefined) return badTarget
  request.headers.host = host
  request.url = path.startsWith('/') ? path : `/${path}`
  return null
}

/**
 * Returns the error of a request whose `Host` is not valid (RFC 9112, section 3.2), otherwise `null`. Node would take
 * the first of several hosts. A proxy in front might take another one, so several are refused.
 */
function hostProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): PublicError | null {
  if (headers.host === undefined) return httpVersion === '1.0' ? null : noHost
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count === 1 ? null : manyHosts
}

/**
 * Returns the error for a client whose bytes never became a request, or `null` when the client is gone.
 *
 * @param error emitted by `http.Server` as `clientError`
 */
function clientError(error: NodeJS.ErrnoException): PublicError | null {
  switch (error.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return null
    case 'HPE_HEADER_OVERFLOW':
      return publicError('HEADERS_TOO_LARGE', 'The request headers are too large: at most 16 KiB in all.')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return publicError('PAYLOAD_TOO_LARGE', 'The chunk extensions of the request body are too large.')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return publicError('REQUEST_TIMEOUT', 'The request headers did not arrive in time.')
    default:
      return publicError('VALIDATION_ERROR', 'This is not a well-formed HTTP/1.1 request.')
  }
}

function closed(stream: Duplex | ServerResponse): Promise<void> {
  return new Promise((resolve) => void stream.once('close', resolve))
}
