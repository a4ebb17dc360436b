import { untilNextDay } from '../usage/day.ts'
import { RequestRate } from './request-rate.ts'
import { tooMany } from './too-many.ts'

export interface Limits {
  readonly chats: number
  readonly chatsPerUser: number
  readonly requestsPerMinute: number
  /** 0 for no limit. */
  readonly tokensPerDay: number
}

interface UserLoad {
  readonly rate: RequestRate
  running: number
}

/** Nobody can tell when a chat will end. */
const busyMs = 5000

/** Users that are remembered although they do nothing. */
const mostIdle = 1000

/** Counts the chats that run and begin. */
export class ChatLimits {
  readonly #limits: Limits
  readonly #users = new Map<string, UserLoad>()
  #running = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /**
   * Lets a chat begin, and counts it.
   *
   * @param tokensToday tells what the user has used today
   * @returns to be called once, when the chat is over
   * @throws NodekeepError TOO_MANY_REQUESTS with `retry-after`
   */
  admit(userUuid: string, tokensToday: () => number): () => void {
    const { chats, chatsPerUser, requestsPerMinute, tokensPerDay } = this.#limits
    const user = this.#load(userUuid)
    const now = performance.now()
    if (tokensPerDay > 0 && tokensToday() >= tokensPerDay) {
      throw tooMany(
        `You have used your ${tokensPerDay} tokens of today. The next day begins at midnight UTC.`,
        untilNextDay(Date.now()),
      )
    }
    if (user.running >= chatsPerUser) {
      throw tooMany(
        `You have ${chatsPerUser} chats running, which is the limit. Wait until one ends.`,
        busyMs,
      )
    }
    if (this.#running >= chats) throw tooMany('The node has too many chats running. Try again later.', busyMs)
    const wait = user.rate.wait(now)
    if (wait > 0) {
      throw tooMany(`You have begun ${requestsPerMinute} chats within a minute, which is the limit.`, wait)
    }
    user.rate.count(now)
    user.running += 1
    this.#running += 1
    return () => {
      user.running -= 1
      this.#running -= 1
    }
  }

  #load(userUuid: string): UserLoad {
    const known = this.#users.get(userUuid)
    if (known !== undefined) return known
    if (this.#users.size >= mostIdle) this.#forgetIdle()
    const load = { rate: new RequestRate(this.#limits.requestsPerMinute), running: 0 }
    this.#users.set(userUuid, load)
    return load
  }

  #forgetIdle(): void {
    const now = performance.now()
    for (const [userUuid, { rate, running }] of this.#users) {
      if (running === 0 && rate.isIdle(now)) this.#users.delete(userUuid)
    }
  }
}
