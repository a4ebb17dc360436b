import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type AuthenticatedUser, type EventBus, SessionsEnded } from '@nodekeep/plugin-sdk'
import { endWebSocket, isUpgrade } from '../http/web-sockets.ts'
import type { Authenticator } from './authenticator.ts'

/** Users whose sessions are looked up before other work gets its turn on the event loop. */
const batchSize = 20

/**
 * Milliseconds after which the time of last use is written for a session with an open request. Sessions end after days without use,
 * and each write is one of the disk: with 1,000 WebSockets, a write each minute took a tenth of the time of the event loop.
 */
const touchMs = 10 * 60_000

/** A request that was let in with a session: its response is not complete yet, or it became a WebSocket. */
interface OpenRequest {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly sessionId: string
  readonly userUuid: string
}

interface SessionWatchServices {
  readonly authenticator: Pick<Authenticator, 'forget' | 'liveAmong'>
  /** Returns a number that changes whenever another process has changed the sessions or the users. */
  readonly storeVersion: () => Promise<number>
  readonly events: EventBus
  /**
   * Milliseconds between two checks, 3,000 by default. With the time for the closing handshake, WebSockets then end
   * within 5 s, as requests do.
   */
  readonly intervalMs?: number
}

/**
 * Ends WebSockets that outlive their session. A request is checked when it begins, but its response or its WebSocket may
 * last for days. Every few seconds, the sessions of open requests are therefore looked up if one of them may have ended since:
 * by another process, or by its age. When one has ended, its WebSockets are closed and plugins get the event `SessionsEnded`.
 * Uploads go on. This process announces the sessions that it ends itself.
 */
export class SessionWatch {
  readonly #services: SessionWatchServices
  /** The latest request of each connection: the earlier responses end before it. */
  readonly #latest = new Map<Duplex, OpenRequest>()
  /** When a session may have ended by its age, as `performance.now()`. */
  #mayEndAt = 0
  #storeVersion: number | null = null

  constructor(services: SessionWatchServices) {
    this.#services = services
  }

  /** Records that a request was let in. */
  began(
    request: IncomingMessage,
    response: ServerResponse,
    { uuid: userUuid, sessionId }: Pick<AuthenticatedUser, 'uuid' | 'sessionId'>,
  ): void {
    const { socket } = request
    this.#mayEndAt = 0
    if (!this.#latest.has(socket)) socket.once('close', () => this.#latest.delete(socket))
    this.#latest.set(socket, { request, response, sessionId, userUuid })
  }

  /**
   * Starts the checks.
   *
   * @returns a function that stops them
   */
  start(): () => void {
    const { events, intervalMs = 3_000 } = this.#services
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
    const version = await this.#services.storeVersion().catch(() => null)
    const now = performance.now()
    if (version !== null && version === this.#storeVersion && now < this.#mayEndAt) return
    this.#storeVersion = version
    // The time of last use is written by then.
    this.#mayEndAt = now + touchMs
    const ended = await this.#endedAmong(this.#open())
    endWebSockets(ended)
    for (const userUuid of new Set(ended.map((request) => request.userUuid))) {
      this.#services.authenticator.forget(userUuid)
      this.#services.events.emit(SessionsEnded, { userUuid })
    }
  }

  /** Checks the requests of one user after the event, so it does not send the event again. */
  async #checkUser(userUuid: string): Promise<void> {
    endWebSockets(await this.#endedAmong(this.#open().filter((request) => request.userUuid === userUuid)))
  }

  #open(): OpenRequest[] {
    return [...this.#latest.values()].filter(
      ({ request, response }) => isUpgrade(request) || !response.writableFinished,
    )
  }

  /**
   * Returns the requests whose session has ended, and stops watching them, so that each end is reported once. The sessions of a user
   * are looked up together: with 1,000 WebSockets, a lookup for each took 2 % of a processor.
   */
  async #endedAmong(open: readonly OpenRequest[]): Promise<OpenRequest[]> {
    const ended: OpenRequest[] = []
    let checked = 0
    for (const [userUuid, requests] of Map.groupBy(open, (request) => request.userUuid)) {
      const ids = new Set(requests.map(({ sessionId }) => sessionId))
      const live = await this.#services.authenticator.liveAmong(userUuid, ids, touchMs).catch(() => null)
      // Sessions whose lookup fails count as live until the next check.
      const leftMs = [...(live?.values() ?? [Number.NEGATIVE_INFINITY])].map((end) => end - Date.now())
      this.#mayEndAt = Math.min(this.#mayEndAt, performance.now() + Math.min(...leftMs))
      if (live !== null) ended.push(...requests.filter(({ sessionId }) => !live.has(sessionId)))
      checked += 1
      if (checked % batchSize === 0) await setImmediate()
    }
    for (const { request } of ended) this.#latest.delete(request.socket)
    return ended
  }
}

function endWebSockets(ended: readonly OpenRequest[]): void {
  for (const { request } of ended) endWebSocket(request)
}
