import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type AuthenticatedUser, type EventBus, SessionsEnded } from '@nodekeep/plugin-sdk'
import { endWebSocket, isUpgrade } from '../http/web-sockets.ts'
import type { UserCache } from './user-sessions.ts'

/** Lookups before other work gets its turn on the event loop. */
const batchSize = 100

/**
 * Milliseconds after which the time of last use is written for a session with an open request. Sessions end after days without use,
 * and each write is one of the disk: with 1,000 WebSockets, a write each minute took a tenth of the time of the event loop.
 */
const touchMs = 10 * 60_000

/** A request that was let in with a token: its response is not complete yet, or it became a WebSocket. */
interface OpenRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly token: string
  readonly userUuid: string
}

interface SessionWatchParts {
  readonly authenticator: UserCache & {
    authenticate(token: string, touchMs: number): Promise<AuthenticatedUser | null>
  }
  readonly events: EventBus
  /**
   * Milliseconds between two checks, 3,000 by default. With the time for the closing handshake, WebSockets then end
   * within 5 s, as requests do.
   */
  readonly intervalMs?: number
}

/**
 * Ends WebSockets that outlive their session. A request is checked when it begins, but its response or its WebSocket may
 * last for days. The sessions of open requests are therefore looked up every few seconds. When one has ended, its
 * WebSockets are closed and plugins get the event `SessionsEnded`, also when another process ended it. Uploads go on.
 */
export class SessionWatch {
  readonly #parts: SessionWatchParts
  /** The latest request of each connection: the earlier responses end before it. */
  readonly #latest = new Map<Duplex, OpenRequest>()

  constructor(parts: SessionWatchParts) {
    this.#parts = parts
  }

  /** Records that a request was let in. */
  began(request: IncomingMessage, response: ServerResponse, token: string, userUuid: string): void {
    const { socket } = request
    if (!this.#latest.has(socket)) socket.once('close', () => this.#latest.delete(socket))
    this.#latest.set(socket, { request, response, token, userUuid })
  }

  /**
   * Starts the checks.
   *
   * @returns a function that stops them
   */
  start(): () => void {
    const { events, intervalMs = 3_000 } = this.#parts
    const unsubscribe = events.on(SessionsEnded, ({ userUuid }) => this.#checkUser(userUuid))
    let timer: NodeJS.Timeout | null = null
    const schedule = () => {
      timer = setTimeout(async () => {
        await this.#checkAll()
        if (timer !== null) schedule()
      }, intervalMs).unref()
    }
    schedule()
    return () => {
      unsubscribe()
      if (timer !== null) clearTimeout(timer)
      timer = null
    }
  }

  async #checkAll(): Promise<void> {
    const ended = await this.#endedAmong(Map.groupBy(this.#open(), ({ token }) => token))
    endWebSockets(ended)
    for (const userUuid of new Set(ended.map((request) => request.userUuid))) {
      this.#parts.authenticator.forget(userUuid)
      this.#parts.events.emit(SessionsEnded, { userUuid })
    }
  }

  /** Checks the requests of one user after the event, so it does not send the event again. */
  async #checkUser(userUuid: string): Promise<void> {
    const own = this.#open().filter((request) => request.userUuid === userUuid)
    endWebSockets(await this.#endedAmong(Map.groupBy(own, ({ token }) => token)))
  }

  #open(): OpenRequest[] {
    return [...this.#latest.values()].filter(
      ({ request, response }) => isUpgrade(request) || !response.writableFinished,
    )
  }

  /** Returns the requests whose session has ended, and stops watching them, so that each end is reported once. */
  async #endedAmong(byToken: ReadonlyMap<string, readonly OpenRequest[]>): Promise<OpenRequest[]> {
    const ended: OpenRequest[] = []
    let checked = 0
    for (const [token, requests] of byToken) {
      if (await this.#hasEnded(token)) ended.push(...requests)
      checked += 1
      if (checked % batchSize === 0) await setImmediate()
    }
    for (const { request } of ended) this.#latest.delete(request.socket)
    return ended
  }

  /** A session whose lookup fails counts as live. */
  async #hasEnded(token: string): Promise<boolean> {
    const user = await this.#parts.authenticator.authenticate(token, touchMs).catch(() => undefined)
    return user === null
  }
}

function endWebSockets(ended: readonly OpenRequest[]): void {
  for (const { request } of ended) endWebSocket(request)
}
