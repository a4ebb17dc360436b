import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { type EventBus, SessionsEnded } from '@nodekeep/plugin-sdk'
import { endWebSocket, isUpgrade } from '../http/web-sockets.ts'
import type { Authenticator } from './authenticator.ts'

/** Look-ups in one go, before others have their turn. */
const batch = 100

/** What goes on, on the strength of a token: an answer that isn't whole yet, or a WebSocket. */
interface Holding {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly token: string
  readonly userUuid: string
}

export interface SessionWatchParts {
  readonly authenticator: Authenticator
  readonly events: EventBus
  /**
   * Milliseconds between two looks, 3,000 when it isn't given. With them and the time for taking leave, WebSockets end
   * within 5 s, as requests do.
   */
  readonly everyMs?: number
}

/**
 * Ends what outlives its session. A request is checked when it begins; what it begins may go on for days. So the
 * sessions of all that goes on are looked up from time to time, and those only. When one has ended, its WebSockets
 * are closed, and plugins hear `SessionsEnded`, also when another process ended it. Uploads are not cut.
 */
export class SessionWatch {
  readonly #parts: SessionWatchParts
  /** The latest of each connection: earlier answers end before it. */
  readonly #latest = new Map<Duplex, Holding>()

  constructor(parts: SessionWatchParts) {
    this.#parts = parts
  }

  /** Notes that a request was let in. */
  began(request: IncomingMessage, response: ServerResponse, token: string, userUuid: string): void {
    const { socket } = request
    if (!this.#latest.has(socket)) socket.once('close', () => this.#latest.delete(socket))
    this.#latest.set(socket, { request, response, token, userUuid })
  }

  /**
   * Begins to look.
   *
   * @returns stops
   */
  start(): () => void {
    const { events, everyMs = 3_000 } = this.#parts
    const forget = events.on(SessionsEnded, ({ userUuid }) => this.#endOf(userUuid))
    let timer: NodeJS.Timeout | null = null
    const wait = () => {
      timer = setTimeout(async () => {
        await this.#look()
        if (timer !== null) wait()
      }, everyMs).unref()
    }
    wait()
    return () => {
      forget()
      if (timer !== null) clearTimeout(timer)
      timer = null
    }
  }

  async #look(): Promise<void> {
    const ended = await this.#endedAmong(Map.groupBy(this.#open(), ({ token }) => token))
    leave(ended)
    for (const userUuid of new Set(ended.map((holding) => holding.userUuid))) {
      this.#parts.authenticator.forget(userUuid)
      this.#parts.events.emit(SessionsEnded, { userUuid })
    }
  }

  /** Plugins know already. */
  async #endOf(userUuid: string): Promise<void> {
    const own = this.#open().filter((holding) => holding.userUuid === userUuid)
    leave(await this.#endedAmong(Map.groupBy(own, ({ token }) => token)))
  }

  #open(): Holding[] {
    return [...this.#latest.values()].filter(
      ({ request, response }) => isUpgrade(request) || !response.writableFinished,
    )
  }

  /** What it answers is no longer watched, so that nobody hears of it twice. */
  async #endedAmong(byToken: ReadonlyMap<string, readonly Holding[]>): Promise<Holding[]> {
    const ended: Holding[] = []
    let looked = 0
    for (const [token, holdings] of byToken) {
      if (await this.#isOver(token)) ended.push(...holdings)
      looked += 1
      if (looked % batch === 0) await setImmediate()
    }
    for (const { request } of ended) this.#latest.delete(request.socket)
    return ended
  }

  /** While the database cannot be asked, nothing ends. */
  async #isOver(token: string): Promise<boolean> {
    const user = await this.#parts.authenticator.authenticate(token).catch(() => undefined)
    return user === null
  }
}

function leave(ended: readonly Holding[]): void {
  for (const { request } of ended) endWebSocket(request)
}
