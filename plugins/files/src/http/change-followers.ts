import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Requests of one user that wait for changes at a time. */
const mostPerUser = 32

/** A request that waits for changes of its user. */
export class ChangeFollower {
  readonly #end = new AbortController()
  #isNew = false
  #wake = () => {}

  /** Aborts when the request is over: its client left, a session of the user ended, or the plugin stops. */
  get signal(): AbortSignal {
    return this.#end.signal
  }

  /** Records that there may be something new. */
  notice(): void {
    this.#isNew = true
    this.#wake()
  }

  end(): void {
    this.#end.abort()
    this.#wake()
  }

  /** Resolves when something may be new since the last call, when the milliseconds are over, or at the end. */
  async next(ms: number): Promise<void> {
    if (!this.#isNew && !this.signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#wake = resolve
      const timer = setTimeout(resolve, ms)
      await promise
      clearTimeout(timer)
    }
    this.#isNew = false
  }
}

/** The requests that wait for changes, with a limit for each user. */
export class ChangeFollowers {
  readonly #followers = new Map<string, Set<ChangeFollower>>()
  #isClosed = false

  /**
   * Runs a request that waits for changes of a user.
   *
   * @param signal aborts when the client leaves
   * @throws NodekeepError TOO_MANY_REQUESTS if too many of the user wait already
   */
  async follow<T>(
    userUuid: string,
    signal: AbortSignal,
    work: (follower: ChangeFollower) => Promise<T>,
  ): Promise<T> {
    const own = this.#followers.get(userUuid) ?? new Set()
    if (own.size >= mostPerUser) throw tooMany()
    const follower = new ChangeFollower()
    if (signal.aborted || this.#isClosed) follower.end()
    else signal.addEventListener('abort', () => follower.end(), { once: true })
    this.#followers.set(userUuid, own.add(follower))
    try {
      return await work(follower)
    } finally {
      own.delete(follower)
      if (own.size === 0) this.#followers.delete(userUuid)
    }
  }

  /** Wakes the requests of a user. */
  notice(userUuid: string): void {
    for (const follower of this.#followers.get(userUuid) ?? []) follower.notice()
  }

  endOfUser(userUuid: string): void {
    for (const follower of this.#followers.get(userUuid) ?? []) follower.end()
  }

  /** Ends all requests, and those to come. */
  close(): void {
    this.#isClosed = true
    for (const userUuid of this.#followers.keys()) this.endOfUser(userUuid)
  }
}

function tooMany(): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    `${mostPerUser} requests of yours wait for changes already. Close one of them and try again.`,
    { headers: { 'retry-after': '5' } },
  )
}
