import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Duplex, Readable } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { PublicError } from '../errors/public-error.ts'
import { closeLingering, ignoreInput } from './closing.ts'
import { replaceMethod } from './replace-method.ts'
import { announcesBody, failBody, hasLargeRemainder } from './request-body.ts'

/** The maximum number of requests that wait on one connection. In terms of HTTP/1.1, they are pipelined. */
const maxWaiting = 64
/** The maximum of bytes of their bodies. With more in one of them, Node would stop reading the socket. */
const maxWaitingBytes = 64 * 1024 - 1

/**
 * One connection of a client, on which one request runs at a time.
 *
 * A client may send further requests before it has the answer (RFC 9112, section 9.3.2). Node parses them at once and
 * would begin them at once. Here they wait: the next request begins when the response before it has closed. So a client
 * gets no more work done at a time than it has connections, whatever it sends, and everything behind the server may
 * assume that a connection serves one request.
 *
 * Pausing the socket would not bound the queue, because a single read of 64 KiB can hold 2,300 requests. It would also
 * hide that the client has left. So the socket is still read, and a queue of more than 64 requests, or of 64 KiB of
 * bodies, closes the connection. When a connection closes, the requests that wait on it are dropped: they never begin.
 */
export class Connection {
  readonly #socket: Duplex & { destroySoon?: () => void }
  readonly #handle: (response: ServerResponse) => void
  /** Responses to the requests that have not begun, in order. */
  readonly #waiting: ServerResponse[] = []
  /** Bytes of the bodies of those requests that have arrived. */
  #waitingBytes = 0
  /** The response to the request that runs. */
  #current: ServerResponse | null = null
  /** The response to the request that was read last. Its body may still arrive. */
  #latest: ServerResponse | null = null
  /** Ends HTTP on this connection after all requests: an upgrade, or the refusal of malformed bytes. */
  #ending: (() => void) | null = null
  #isMalformed = false
  /** Whether no further request can begin, such as after an upgrade. */
  #hasEnded = false
  /** The time at which the request that runs has begun. */
  #begunAt = 0
  /** The owner of the route of the request that runs: the id of a plugin, or the kernel. Without such a request, it means nothing. */
  owner: string | null = null

  /**
   * @param socket a TCP connection, or any other that speaks HTTP
   * @param handle begins a request
   */
  constructor(socket: Duplex & { destroySoon?: () => void }, handle: (response: ServerResponse) => void) {
    this.#socket = socket
    this.#handle = handle
    // Node listens for errors itself, but not after an upgrade or a refused request.
    socket.on('error', () => socket.destroy())
    const destroySoon = socket.destroySoon?.bind(socket) ?? (() => socket.end())
    // Node calls this after an answer with "connection: close".
    replaceMethod(socket, 'destroySoon', () => {
      const request = this.#latest?.req
      if (request?.complete === false || (request && ignoresUpgrade(request))) closeLingering(socket)
      else destroySoon()
    })
  }

  /** The response to the request that runs; `null` between two requests. */
  get current(): ServerResponse | null {
    return this.#current
  }

  /** The milliseconds for which the request that runs is in work: its body arrives, or its answer has not begun. */
  get workMs(): number {
    const response = this.#current
    if (response === null || (response.headersSent && response.req.complete)) return 0
    return performance.now() - this.#begunAt
  }

  /** Closes the connection between two requests. */
  closeIfIdle(): void {
    if (this.#current === null && this.#latest?.writableFinished === true && !this.#hasEnded)
      this.#socket.destroySoon?.()
  }

  /**
   * Answers the request that runs with an error, if its answer has not begun. The requests behind it are dropped. Reading a body that
   * still arrives fails, so that its route cleans up and answers.
   *
   * @param write writes the error in place of the route
   * @returns whether an answer is on its way
   */
  refuse({ code, message, headers }: PublicError, write: (response: ServerResponse) => void): boolean {
    const response = this.#current
    if (response === null || response.headersSent) return false
    this.#waiting.length = 0
    if (response.req.complete) write(response)
    else failBody(response.req, new NodekeepError(code, message, { headers }))
    return true
  }

  /** Begins a request, or queues it behind the one that runs. */
  receive(response: ServerResponse): void {
    // One read can hold many requests. Node goes on parsing them after the connection was destroyed. It also parses bytes
    // that arrive between the last answer and the end of the connection.
    if (!this.#socket.writable) return
    this.#latest = response
    if (this.#current === null) this.#begin(response)
    else if (this.#waiting.push(response) > maxWaiting) this.#socket.destroy()
    else this.#countBody(response.req)
  }

  /** Counts the bytes that Node adds to the body of a waiting request. */
  #countBody(request: IncomingMessage): void {
    replaceMethod(request, 'push', (chunk: Buffer | null) => {
      this.#waitingBytes += chunk?.length ?? 0
      if (this.#waitingBytes > maxWaitingBytes) this.#socket.destroy()
      return Readable.prototype.push.call(request, chunk)
    })
  }

  /** Ends HTTP on this connection when all requests are answered. Node reads no requests any more. */
  endWith(ending: () => void): void {
    this.#hasEnded = true
    if (this.#current === null) {
      ending()
      return
    }
    this.#ending = ending
    this.#socket.once('end', this.#leave)
  }

  /**
   * Handles bytes that are not HTTP. The requests before them are still answered. If they are within the body of a
   * request, reading that body fails.
   *
   * @param refuse writes the error on the connection and ends it
   */
  malformed(error: PublicError, refuse: () => void): void {
    if (this.#isMalformed) return
    this.#isMalformed = true
    const latest = this.#latest
    if (latest === null || (latest.writableFinished && latest.req.complete)) {
      refuse()
      return
    }
    ignoreInput(this.#socket)
    if (latest.writableFinished) closeLingering(this.#socket)
    else if (latest.req.complete) this.endWith(refuse)
    else
      failBody(latest.req, new NodekeepError(error.code, error.message, { headers: { connection: 'close' } }))
  }

  #begin(response: ServerResponse): void {
    this.#current = response
    this.#begunAt = performance.now()
    response.once('close', this.#next)
    announceClose(response)
    this.#handle(response)
  }

  readonly #next = (): void => {
    // Other listeners of the response hear of its end before the next request begins.
    if (this.#waiting.length > 0 || this.#ending !== null) queueMicrotask(this.#advance)
    else this.#current = null
  }

  readonly #advance = (): void => {
    this.#current = null
    this.#socket.off('end', this.#leave)
    // The client has left, or the answer was the last one ("connection: close").
    if (!this.#socket.writable) {
      this.#waiting.length = 0
      return
    }
    const response = this.#waiting.shift()
    if (response === undefined) {
      this.#ending?.()
      return
    }
    this.#waitingBytes -= response.req.readableLength
    Reflect.deleteProperty(response.req, 'push')
    this.#begin(response)
  }

  /** Node does the same for a client that closes its side, but no longer after an upgrade. */
  readonly #leave = (): void => {
    this.#socket.end()
  }
}

/**
 * Makes the head of an answer say "connection: close" when no other request can follow it on its connection (RFC 9112,
 * section 9.6). That is known when the head is written.
 *
 * After a request to upgrade that the node ignores, Node drops the rest of the bytes that it read together with it. The
 * next bytes could be the middle of another request, so they are not read as HTTP. After an answer to a body that may
 * have a large rest, the rest is not read.
 */
function announceClose(response: ServerResponse): void {
  const { req } = response
  if (ignoresUpgrade(req)) response.shouldKeepAlive = false
  if (!announcesBody(req)) return
  const writeHead = response.writeHead as (...given: unknown[]) => ServerResponse
  replaceMethod(response, 'writeHead', (...given: unknown[]) => {
    if (hasLargeRemainder(req)) response.shouldKeepAlive = false
    return writeHead.apply(response, given)
  })
}

/** Returns whether an ordinary request offered another protocol. The node answers it as HTTP/1.1 (RFC 9110, section 7.8). */
function ignoresUpgrade({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined
}
