/** When deletions are too many to be meant. */
export interface DeletionLimits {
  /** Up to this number of files, nobody is asked. */
  readonly files: number
  /** Up to this share of all synced files, nobody is asked. More than 0, at most 1. */
  readonly share: number
}

/** Deletions of this time count together, in milliseconds: a folder that somebody deletes is seen in several parts. */
const windowMs = 10 * 60_000

/** Stops deletions of many files at once, until the person confirms them. A lost disk and a mistake look like this. */
export class DeletionGuard {
  readonly #limits: DeletionLimits
  readonly #times: number[] = []
  #confirmed = 0

  constructor(limits: DeletionLimits) {
    this.#limits = limits
  }

  /**
   * Whether files may be deleted now.
   *
   * @param planned number of files to delete
   * @param known number of files in the common state, the planned ones included
   * @param now milliseconds of a clock that nobody sets
   */
  allows(planned: number, known: number, now: number): boolean {
    if (planned <= this.#confirmed) return true
    while (this.#times[0] !== undefined && this.#times[0] < now - windowMs) this.#times.shift()
    const all = planned + this.#times.length
    return all <= this.#limits.files || all <= this.#limits.share * (known + this.#times.length)
  }

  /** The person has confirmed a number of deletions. */
  confirm(planned: number): void {
    this.#confirmed = planned
  }

  /**
   * Counts a deletion of a file.
   *
   * @param now milliseconds of a clock that nobody sets
   */
  count(now: number): void {
    if (this.#confirmed > 0) this.#confirmed -= 1
    else this.#times.push(now)
  }
}
