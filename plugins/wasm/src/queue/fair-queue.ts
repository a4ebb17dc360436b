import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Lane, Waiting } from './lane.ts'

export interface QueueBounds {
  /** Most runs at a time, in all and of one user. */
  readonly parallel: number
  readonly parallelPerUser: number
  /** Most calls that wait, in all and of one user. */
  readonly queue: number
  readonly queuePerUser: number
}

/** What a user may run at a time of whom nothing is known. */
const firstAllowance = 4

/** So long it is known of a user who runs nothing, in milliseconds: between two bursts, and no longer. */
const knownMs = 1000

/** Of so many users it is known who run nothing. */
const mostKnown = 1000

/** A run that takes longer is no short one, in milliseconds. */
const shortMs = 100

/**
 * Lets so many calls run at a time and makes the others wait. Users take turns, each with the oldest of their calls.
 *
 * Of one user, no more may run than places are left free. So those who came first, or many of them together, cannot take
 * every place: whoever has nothing running finds one, for as long as there are fewer users than places. And what a user
 * may run at a time grows by one with each short run, and is halved by each long one: many short ones at a time cost
 * little and go faster together, many long ones are in the way of everybody.
 */
export class FairQueue {
  readonly #bounds: QueueBounds
  readonly #lanes = new Map<string, Lane>()
  /** The users with waiting calls; whose turn is next stands first. */
  readonly #turns = new Set<Lane>()
  #running = 0
  #waiting = 0
  #closed: NodekeepError | undefined

  constructor(bounds: QueueBounds) {
    this.#bounds = bounds
  }

  /**
   * Runs a task when it is its turn. A call whose signal aborts leaves the queue; to end a running task with its signal
   * is the task's business.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS when too many wait, SERVICE_UNAVAILABLE after `close`
   */
  async run<T>(user: string, signal: AbortSignal, task: () => Promise<T>): Promise<T> {
    signal.throwIfAborted()
    if (this.#closed !== undefined) throw this.#closed
    const lane = this.#laneOf(user)
    // Whoever waits was not allowed to begin, and is told once that changes. So nobody is overtaken here.
    if (this.#mayBegin(lane)) this.#begin(lane)
    else await this.#turn(lane, signal)
    const began = performance.now()
    try {
      // Who left in the moment of their turn is not run for.
      signal.throwIfAborted()
      return await task()
    } finally {
      lane.endedAt = performance.now()
      this.#end(lane, lane.endedAt - began)
    }
  }

  /** Refuses what waits, and whatever still comes. What runs goes on. */
  close(reason: NodekeepError): void {
    this.#closed = reason
    for (const lane of this.#turns) {
      for (const waiting of lane.waiting) {
        this.#leave(lane, waiting)
        waiting.refuse(reason)
      }
    }
  }

  #laneOf(user: string): Lane {
    const known = this.#lanes.get(user)
    if (known !== undefined && (isBusy(known) || performance.now() - known.endedAt < knownMs)) return known
    const allowance = Math.min(firstAllowance, this.#bounds.parallelPerUser)
    const lane: Lane = { user, running: 0, allowance, endedAt: 0, waiting: new Set() }
    // At the end of the row: who was forgotten is a newcomer.
    this.#lanes.delete(user)
    this.#lanes.set(user, lane)
    return lane
  }

  #mayBegin({ running, allowance }: Lane): boolean {
    return running < allowance && running < this.#bounds.parallel - this.#running
  }

  #begin(lane: Lane): void {
    lane.running += 1
    this.#running += 1
  }

  #end(lane: Lane, ms: number): void {
    if (ms > shortMs) lane.allowance = Math.ceil(lane.allowance / 2)
    else if (lane.allowance < this.#bounds.parallelPerUser) lane.allowance += 1
    lane.running -= 1
    this.#running -= 1
    // Who has just had a turn goes behind those who wait for theirs.
    if (lane.running === 0 && this.#turns.delete(lane)) this.#turns.add(lane)
    if (this.#waiting > 0) this.#callNext()
    this.#tidy(lane)
  }

  async #turn(lane: Lane, signal: AbortSignal): Promise<void> {
    const { queue, queuePerUser } = this.#bounds
    if (lane.waiting.size >= queuePerUser || this.#waiting >= queue) {
      const whose = lane.waiting.size >= queuePerUser ? 'of your calls' : 'calls on this node'
      this.#tidy(lane)
      throw tooMany(`Too many ${whose} are waiting already.`)
    }
    const { promise, resolve: begin, reject: refuse } = Promise.withResolvers<void>()
    const waiting = { begin, refuse }
    lane.waiting.add(waiting)
    this.#turns.add(lane)
    this.#waiting += 1
    const leave = () => {
      this.#leave(lane, waiting)
      this.#tidy(lane)
      refuse(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      await promise
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  /** Takes a call out of the queue. */
  #leave(lane: Lane, waiting: Waiting): void {
    if (!lane.waiting.delete(waiting)) return
    this.#waiting -= 1
    if (lane.waiting.size === 0) this.#turns.delete(lane)
  }

  /** Begins with what may begin now. At most as many users as there are places are passed over: those have some. */
  #callNext(): void {
    for (const lane of this.#turns) {
      if (this.#running >= this.#bounds.parallel) return
      const [next] = lane.waiting
      if (next === undefined || !this.#mayBegin(lane)) continue
      this.#leave(lane, next)
      this.#begin(lane)
      next.begin()
      // At the end of the row, where this very loop comes to it again.
      if (this.#turns.delete(lane)) this.#turns.add(lane)
    }
  }

  #tidy(lane: Lane): void {
    if (isBusy(lane) || this.#lanes.size <= mostKnown) return
    for (const [user, known] of this.#lanes) {
      if (isBusy(known)) continue
      this.#lanes.delete(user)
      return
    }
  }
}

function isBusy({ running, waiting }: Lane): boolean {
  return running > 0 || waiting.size > 0
}

function tooMany(what: string): NodekeepError {
  return new NodekeepError('TOO_MANY_REQUESTS', `${what} Try again in a moment.`, {
    headers: { 'retry-after': '1' },
  })
}
