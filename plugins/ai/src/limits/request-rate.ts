const minuteMs = 60_000

/** Keeps one user to so many requests within any minute: the times of the last ones, in a ring. */
export class RequestRate {
  readonly #max: number
  readonly #times: number[] = []
  #count = 0

  constructor(max: number) {
    this.#max = max
  }

  /** Milliseconds until another request is allowed; 0 when it is now. */
  wait(now: number): number {
    const earliest = this.#times[this.#count % this.#max]
    return earliest === undefined ? 0 : Math.max(0, earliest + minuteMs - now)
  }

  /** Counts a request. */
  count(now: number): void {
    this.#times[this.#count % this.#max] = now
    this.#count += 1
  }

  /** Whether the last minute had none. */
  isIdle(now: number): boolean {
    const latest = this.#times[(this.#count - 1) % this.#max]
    return latest === undefined || latest + minuteMs <= now
  }
}
