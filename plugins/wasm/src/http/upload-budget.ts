import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * Bounds the bytes of requests that bring a module along: each is held in memory while it arrives, waits and runs. Of one
 * user, there are never more than are left free. So two who take all that they may don't leave a third without.
 */
export class UploadBudget {
  readonly #most: number
  readonly #mostPerUser: number
  readonly #taken = new Map<string, number>()
  #total = 0

  /** Both in bytes. */
  constructor(most: number, mostPerUser: number) {
    this.#most = most
    this.#mostPerUser = mostPerUser
  }

  /**
   * Takes bytes. What it returns gives them back, and is to be called once.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS
   */
  take(user: string, bytes: number): () => void {
    const mine = this.#taken.get(user) ?? 0
    if (mine + bytes > Math.min(this.#mostPerUser, this.#most - this.#total)) throw tooMany()
    this.#add(user, bytes)
    return () => this.#add(user, -bytes)
  }

  #add(user: string, bytes: number): void {
    const mine = (this.#taken.get(user) ?? 0) + bytes
    this.#total += bytes
    if (mine === 0) this.#taken.delete(user)
    else this.#taken.set(user, mine)
  }
}

function tooMany(): NodekeepError {
  return new NodekeepError(
    'TOO_MANY_REQUESTS',
    'Too many modules are being uploaded at this moment. Try again in a moment, or store them as files.',
    { headers: { 'retry-after': '1' } },
  )
}
