import { NodekeepError } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'
import { untilNextDay } from '../usage/day.ts'

interface Limits {
  readonly chats: number
  readonly chatsPerUser: number
  readonly requestsPerMinute: number
  /** 0 for no limit. */
  readonly tokensPerDay: number
}

/** The `retry-after` of a limit on running chats, in milliseconds: the end of a chat cannot be predicted. */
const busyMs = 5000

/** Users whose latest requests are remembered. */
const maxUsers = 10_000

/** Counts the chats that run and begin, and refuses those beyond the limits. */
export class ChatLimits {
  readonly #limits: Limits
  readonly #rates = new LRUCache<string, RequestRate>({ max: maxUsers })
  readonly #running = new Map<string, number>()
  #total = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /**
   * Lets a chat begin, and counts it.
   *
   * @param tokensToday returns the tokens that the user has used today
   * @returns a function to call once, when the chat is over
   * @throws NodekeepError TOO_MANY_REQUESTS with `retry-after`
   */
  admit(userUuid: string, tokensToday: () => number): () => void {
    const { chats, chatsPerUser, requestsPerMinute, tokensPerDay } = this.#limits
    if (tokensPerDay > 0 && tokensToday() >= tokensPerDay) {
      throw tooMany(
        `You have used your ${tokensPerDay} tokens of today. The next day begins at midnight UTC.`,
        untilNextDay(Date.now()),
      )
    }
    if (this.#runningOf(userUuid) >= chatsPerUser) {
      throw tooMany(
        `You have ${chatsPerUser} chats running, which is the limit. Wait until one ends.`,
        busyMs,
      )
    }
    if (this.#total >= chats) throw tooMany('The node has too many chats running. Try again later.', busyMs)
    const now = performance.now()
    const rate = this.#rates.get(userUuid) ?? new RequestRate(requestsPerMinute)
    const waitMs = rate.waitMs(now)
    if (waitMs > 0) {
      throw tooMany(`You have begun ${requestsPerMinute} chats within a minute, which is the limit.`, waitMs)
    }
    rate.count(now)
    this.#rates.set(userUuid, rate)
    this.#add(userUuid, 1)
    return () => this.#add(userUuid, -1)
  }

  #runningOf(userUuid: string): number {
    return this.#running.get(userUuid) ?? 0
  }

  #add(userUuid: string, chats: 1 | -1): void {
    const running = this.#runningOf(userUuid) + chats
    if (running === 0) this.#running.delete(userUuid)
    else this.#running.set(userUuid, running)
    this.#total += chats
  }
}

const minuteMs = 60_000

/** Limits the requests of one user within any minute. It stores the times of the latest requests in a ring buffer. */
export class RequestRate {
  readonly #max: number
  readonly #times: number[] = []
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Returns the milliseconds until another request is allowed, or 0 when it is allowed now. */
  waitMs(now: number): number {
    const earliest = this.#times[this.#count % this.#max]
    return earliest === undefined ? 0 : Math.max(0, earliest + minuteMs - now)
  }

  /** Counts a request. */
  count(now: number): void {
    this.#times[this.#count % this.#max] = now
    this.#count += 1
  }
}

/** @param waitMs time until another attempt makes sense; sent in whole seconds, at least one */
function tooMany(message: string, waitMs: number): NodekeepError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000))
  return new NodekeepError('TOO_MANY_REQUESTS', message, { headers: { 'retry-after': String(seconds) } })
}
