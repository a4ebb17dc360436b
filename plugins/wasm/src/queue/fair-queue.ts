import { NodekeepError } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'

/** Bounds of a queue. */
export interface QueueBounds {
  /** Most calls that run at a time. */
  readonly places: number
  /** Most calls that wait. */
  readonly queue: number
  /** Most calls of one user that wait. */
  readonly queuePerUser: number
}

interface Waiting {
  readonly begin: () => void
  readonly refuse: (reason: unknown) => void
}

interface UserCalls {
  running: number
  /** In the order in which they came. */
  readonly waiting: Set<Waiting>
  /** The number of the turn in which the user began a call last. */
  lastTurn: number
  /** Milliseconds that the user's calls took, running ones included, as of `countedAt`. Older ones count less. */
  usedMs: number
  countedAt: number
}

/** A used millisecond counts half as much after this time, in milliseconds. */
const halfLifeMs = 10_000
/** Users whose calls used the same whole number of these steps take turns, in milliseconds. */
const stepMs = 1000
/** Idle users whose used time is remembered. */
const rememberedUsers = 1000

/**
 * Lets as many calls run at a time as there are places. The others wait, and users take turns:
 *
 * - A free place goes to the waiting user who began a call longest ago, and to the oldest call of that user. Users whose
 *   calls took a second or more lately come after those whose calls took less, and so on for each further second.
 *   Running calls count.
 * - No user runs more calls than places are left free. So a user with nothing running finds a free place, unless there
 *   are about as many other users as places.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #now: () => number
  /** Users with running or waiting calls. */
  readonly #busy = new Map<string, UserCalls>()
  readonly #idle = new LRUCache<string, UserCalls>({ max: rememberedUsers })
  #turns = 0
  #running = 0
  #waiting = 0
  #closed: NodekeepError | undefined

  /** @param now a clock that is never set, in milliseconds */
  constructor(bounds: QueueBounds, now = () => performance.now()) {
    this.#bounds = bounds
    this.#now = now
  }

  /**
   * Runs a task when it is its user's turn. A call whose signal aborts leaves the queue. Ending a running task when its
   * signal aborts is up to the task.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS when too many calls wait, SERVICE_UNAVAILABLE after `close`
   */
  async run<T>(user: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    if (this.#closed !== undefined) throw this.#closed
    const calls = this.#callsOf(user)
    // No call is overtaken here: whenever a place becomes free, waiting calls begin until none of them may.
    if (this.#mayBegin(calls)) this.#begin(calls)
    else await this.#turn(user, calls, signal)
    try {
      // The client may have left in the moment in which the call's turn came.
      signal.throwIfAborted()
      return await task()
    } finally {
      this.#end(user, calls)
    }
  }

  /** Refuses all calls that wait and all that still come. Running ones go on. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    const waiting = [...this.#busy.values()].flatMap((calls) => [...calls.waiting])
    for (const { refuse } of waiting) refuse(reason)
  }

  #callsOf(user: string): UserCalls {
    let calls = this.#busy.get(user)
    if (calls !== undefined) return calls
    const now = this.#now()
    calls = this.#idle.get(user) ?? { running: 0, waiting: new Set(), lastTurn: 0, usedMs: 0, countedAt: now }
    this.#idle.delete(user)
    this.#busy.set(user, calls)
    return calls
  }

  #mayBegin({ running }: UserCalls): boolean {
    return running < this.#bounds.places - this.#running
  }

  #begin(calls: UserCalls): void {
    count(calls, this.#now())
    this.#turns += 1
    calls.lastTurn = this.#turns
    calls.running += 1
    this.#running += 1
  }

  #end(user: string, calls: UserCalls): void {
    count(calls, this.#now())
    calls.running -= 1
    this.#running -= 1
    if (this.#waiting > 0) this.#beginNext()
    this.#restIfIdle(user, calls)
  }

  async #turn(user: string, calls: UserCalls, signal: AbortSignal): Promise<void> {
    const { queue, queuePerUser } = this.#bounds
    if (calls.waiting.size >= queuePerUser || this.#waiting >= queue) {
      const whose = calls.waiting.size >= queuePerUser ? 'of your calls' : 'calls on this node'
      this.#restIfIdle(user, calls)
      throw tooMany(`Too many ${whose} are waiting already.`)
    }
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>()
    const refuse = (reason: unknown) => {
      if (calls.waiting.delete(waiting)) this.#waiting -= 1
      this.#restIfIdle(user, calls)
      reject(reason)
    }
    const waiting: Waiting = { begin, refuse }
    calls.waiting.add(waiting)
    this.#waiting += 1
    const leave = () => refuse(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Begins with as many waiting calls as may begin now. */
  #beginNext(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [oldest] = next.waiting
      if (oldest === undefined) return
      next.waiting.delete(oldest)
      this.#waiting -= 1
      this.#begin(next)
      oldest.begin()
    }
  }

  #next(): UserCalls | undefined {
    if (this.#running >= this.#bounds.places) return undefined
    const now = this.#now()
    let next: UserCalls | undefined
    for (const calls of this.#busy.values()) {
      if (calls.waiting.size === 0 || !this.#mayBegin(calls)) continue
      count(calls, now)
      if (next === undefined || isBefore(calls, next)) next = calls
    }
    return next
  }

  #restIfIdle(user: string, calls: UserCalls): void {
    if (calls.running > 0 || calls.waiting.size > 0) return
    this.#busy.delete(user)
    this.#idle.set(user, calls)
  }
}

function isBefore(one: UserCalls, other: UserCalls): boolean {
  const steps = Math.floor(one.usedMs / stepMs) - Math.floor(other.usedMs / stepMs)
  return steps < 0 || (steps === 0 && one.lastTurn < other.lastTurn)
}

/** Counts the time since the last count: of each running call, and of all that was counted before. */
function count(calls: UserCalls, now: number): void {
  const ms = now - calls.countedAt
  calls.usedMs = calls.usedMs * 2 ** (-ms / halfLifeMs) + calls.running * ms
  calls.countedAt = now
}

function tooMany(what: string): NodekeepError {
  return new NodekeepError('TOO_MANY_REQUESTS', `${what} Try again in a moment.`, {
    headers: { 'retry-after': '1' },
  })
}
