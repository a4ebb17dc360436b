import { NodekeepError } from '@nodekeep/plugin-sdk'
import { LRUCache } from 'lru-cache'

/** Bounds of a queue. */
export interface QueueBounds {
  /** Calls that may wait. */
  readonly queue: number
  /** Calls of one user that may wait. */
  readonly queuePerUser: number
}

/** Options of a queue. */
export interface FairQueueOptions extends QueueBounds {
  /** Calls that run at a time. */
  readonly slots: number
  /** The time of a turn, in milliseconds. */
  readonly turnMs: number
}

/** Users that are remembered. Beyond that, the counts of a user with calls may start at zero again. */
const keptUsers = 10_000

interface WaitingCall {
  readonly begin: () => void
  readonly refuse: (reason: unknown) => void
}

interface UserCalls {
  running: number
  /** In the order of arrival. */
  readonly waiting: Set<WaitingCall>
  /** The lowest number is the first turn. */
  turn: number
  /** Milliseconds that calls have run in this turn. */
  usedMs: number
}

/**
 * Runs at most as many calls at a time as there are slots. The other calls wait, and users take turns:
 *
 * - A slot that becomes free goes to the user with the fewest running calls. Of several such users, it goes to the one whose
 *   turn is first, and to the oldest call of that user.
 * - When the calls of a user have run for the time of a turn, or when one of them has failed, the user's turn becomes the
 *   last one. So a turn is one long call, or several short ones.
 * - No user runs more calls than slots are left free. So a user without running calls finds a free slot, unless there
 *   are about as many other users as slots.
 */
export class FairQueue {
  readonly #options: FairQueueOptions
  /** A user without calls is kept too, so that a turn is not lost between two calls. */
  readonly #users = new LRUCache<string, UserCalls>({ max: keptUsers })
  /** The users with waiting calls. */
  readonly #waitingUsers = new Set<UserCalls>()
  #lastTurn = 0
  #running = 0
  #waiting = 0
  #closed: NodekeepError | undefined

  constructor(options: FairQueueOptions) {
    this.#options = options
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
    const calls = this.#callsOf(user)
    // Whenever a slot becomes free, waiting calls begin until none of them may. So this call overtakes no other.
    if (this.#mayBegin(calls)) this.#begin(calls)
    else await this.#wait(calls, signal)
    const began = performance.now()
    // A call that fails may have cost a sandbox, which others have to wait for.
    let usedMs = this.#options.turnMs
    try {
      // The client may have left at the moment at which its call began.
      signal.throwIfAborted()
      const result = await task()
      usedMs = performance.now() - began
      return result
    } finally {
      this.#end(calls, usedMs)
    }
  }

  /** Refuses all waiting and all future calls. Running calls go on. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    const waiting = [...this.#waitingUsers].flatMap((calls) => [...calls.waiting])
    for (const { refuse } of waiting) refuse(reason)
  }

  #callsOf(user: string): UserCalls {
    const known = this.#users.get(user)
    if (known !== undefined) return known
    const calls = { running: 0, waiting: new Set<WaitingCall>(), turn: this.#nextTurn(), usedMs: 0 }
    this.#users.set(user, calls)
    return calls
  }

  #mayBegin({ running }: UserCalls): boolean {
    return running < this.#options.slots - this.#running
  }

  #begin(calls: UserCalls): void {
    calls.running += 1
    this.#running += 1
  }

  #end(calls: UserCalls, ms: number): void {
    calls.running -= 1
    this.#running -= 1
    calls.usedMs += ms
    if (calls.usedMs >= this.#options.turnMs) {
      calls.turn = this.#nextTurn()
      calls.usedMs = 0
    }
    for (let next = this.#nextCall(); next !== undefined; next = this.#nextCall()) {
      const { calls: nextCalls, oldest } = next
      this.#remove(nextCalls, oldest)
      this.#begin(nextCalls)
      oldest.begin()
    }
  }

  #nextCall(): { readonly calls: UserCalls; readonly oldest: WaitingCall } | undefined {
    let first: UserCalls | undefined
    for (const calls of this.#waitingUsers) {
      if (this.#mayBegin(calls) && (first === undefined || comesBefore(calls, first))) first = calls
    }
    const [oldest] = first?.waiting ?? []
    return first && oldest && { calls: first, oldest }
  }

  #nextTurn(): number {
    this.#lastTurn += 1
    return this.#lastTurn
  }

  async #wait(calls: UserCalls, signal: AbortSignal): Promise<void> {
    const { queue, queuePerUser } = this.#options
    if (calls.waiting.size >= queuePerUser) throw tooMany('of your calls')
    if (this.#waiting >= queue) throw tooMany('calls on this node')
    const { promise, resolve: begin, reject } = Promise.withResolvers<void>()
    const call: WaitingCall = {
      begin,
      refuse: (reason) => {
        this.#remove(calls, call)
        reject(reason)
      },
    }
    calls.waiting.add(call)
    this.#waitingUsers.add(calls)
    this.#waiting += 1
    const leave = () => call.refuse(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #remove(calls: UserCalls, call: WaitingCall): void {
    if (!calls.waiting.delete(call)) return
    this.#waiting -= 1
    if (calls.waiting.size === 0) this.#waitingUsers.delete(calls)
  }
}

function comesBefore(a: UserCalls, b: UserCalls): boolean {
  return a.running === b.running ? a.turn < b.turn : a.running < b.running
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
