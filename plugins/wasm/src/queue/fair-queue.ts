import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Bounds of a queue. */
export interface QueueBounds {
  /** Calls that run at a time. */
  readonly slots: number
  /** Calls that may wait. */
  readonly queue: number
  /** Calls of one user that may wait. */
  readonly queuePerUser: number
}

interface WaitingCall {
  readonly begin: () => void
  readonly refuse: (reason: unknown) => void
}

interface UserCalls {
  running: number
  /** In the order of arrival. */
  readonly waiting: Set<WaitingCall>
}

/**
 * Runs at most as many calls at a time as there are slots. The other calls wait, and users take turns:
 *
 * - A slot that becomes free goes to the user who has waited longest since one of their calls began or ended, and to the
 *   oldest call of that user.
 * - No user runs more calls than slots are left free. So a user without running calls finds a free slot, unless there
 *   are about as many other users as slots.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  /** Users with running or waiting calls. The user whose last call began or ended longest ago is first. */
  readonly #users = new Map<string, UserCalls>()
  #running = 0
  #waiting = 0
  #closed: NodekeepError | undefined

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds
  }

  /**
   * Runs a task when it is its user's turn. A call whose signal aborts leaves the queue. A running task must watch its
   * signal itself.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS if too many calls wait, SERVICE_UNAVAILABLE after `close`
   */
  async run<T>(user: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    if (this.#closed !== undefined) throw this.#closed
    const calls = this.#users.get(user) ?? { running: 0, waiting: new Set() }
    // Whenever a slot becomes free, waiting calls begin until none of them may. So this call overtakes no other.
    if (this.#mayBegin(calls)) this.#begin(user, calls)
    else await this.#wait(user, calls, signal)
    try {
      // The client may have left at the moment at which its call began.
      signal.throwIfAborted()
      return await task()
    } finally {
      this.#end(user, calls)
    }
  }

  /** Refuses all waiting and all future calls. Running calls go on. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    const waiting = [...this.#users.values()].flatMap((calls) => [...calls.waiting])
    for (const { refuse } of waiting) refuse(reason)
  }

  #mayBegin({ running }: UserCalls): boolean {
    return running < this.#bounds.slots - this.#running
  }

  #begin(user: string, calls: UserCalls): void {
    calls.running += 1
    this.#running += 1
    this.#moveToEnd(user, calls)
  }

  #end(user: string, calls: UserCalls): void {
    calls.running -= 1
    this.#running -= 1
    this.#moveToEnd(user, calls)
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const [nextUser, nextCalls, oldest] = next
      this.#remove(nextCalls, oldest)
      this.#begin(nextUser, nextCalls)
      oldest.begin()
    }
  }

  #next(): [user: string, calls: UserCalls, oldest: WaitingCall] | undefined {
    if (this.#running >= this.#bounds.slots) return undefined
    for (const [user, calls] of this.#users) {
      const [oldest] = calls.waiting
      if (oldest !== undefined && this.#mayBegin(calls)) return [user, calls, oldest]
    }
    return undefined
  }

  async #wait(user: string, calls: UserCalls, signal: AbortSignal): Promise<void> {
    const { queue, queuePerUser } = this.#bounds
    if (calls.waiting.size >= queuePerUser) throw tooMany('of your calls')
    if (this.#waiting >= queue) throw tooMany('calls on this node')
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>()
    const call: WaitingCall = {
      begin,
      refuse: (reason) => {
        this.#remove(calls, call)
        if (calls.running === 0 && calls.waiting.size === 0) this.#users.delete(user)
        reject(reason)
      },
    }
    calls.waiting.add(call)
    this.#waiting += 1
    if (!this.#users.has(user)) this.#users.set(user, calls)
    const leave = () => call.refuse(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #remove(calls: UserCalls, call: WaitingCall): void {
    if (calls.waiting.delete(call)) this.#waiting -= 1
  }

  /** Moves a user behind all others, or out of the queue if no call is left. */
  #moveToEnd(user: string, calls: UserCalls): void {
    this.#users.delete(user)
    if (calls.running > 0 || calls.waiting.size > 0) this.#users.set(user, calls)
  }
}

function tooMany(what: string): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    `Too many ${what} are waiting already. Try again in a moment.`,
    {
      headers: { 'retry-after': '1' },
    },
  )
}
