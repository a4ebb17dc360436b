/** One call that waits for its turn. */
export interface Waiting {
  /** Says that it may begin. */
  readonly begin: () => void
  /** Says that it will not. */
  readonly refuse: (error: Error) => void
}

/** The runs of one user. */
export interface Lane {
  readonly user: string
  running: number
  /** How many may run at a time, as far as the runs so far tell. */
  allowance: number
  /** When one ended last, as `performance.now()`. */
  endedAt: number
  /** In the order in which they came. */
  readonly waiting: Set<Waiting>
}
