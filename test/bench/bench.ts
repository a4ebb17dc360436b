/** The goal of a figure: a ratio to the baseline, or a value in the unit of the bench. */
type Goal = { readonly ratio: number } | { readonly ours: number }

/** A measurement. The default export of each file `test/bench/<part>.bench.ts` is a list of them. */
export interface Bench {
  /** A few words that begin with the part, such as `kernel: start`. */
  readonly name: string
  /** For example `ms`, `MB` or `requests/s`. */
  readonly unit: string
  /** Whether larger or smaller figures are better. */
  readonly better: 'more' | 'less'
  readonly goal?: Goal
  /** The number of rounds that count. Default: 5. One more round runs before them and is ignored. */
  readonly rounds?: number
  /**
   * The number of times that everything is set up and measured again. Default: 1. Some processes run faster than others all
   * their life, depending on how V8 compiled them. More rounds do not show that; more starts do.
   */
  readonly starts?: number
  /** Prepares the rounds. */
  setUp(): Promise<BenchRun>
}

/** A prepared bench. Each call measures once. */
export interface BenchRun {
  ours(): Promise<number>
  /** Measures the baseline that ours is compared with. */
  baseline?(): Promise<number>
  tearDown?(): Promise<void>
}

/** The result of a bench. Each figure is the median of the rounds; with several starts, the median of their medians. */
export interface BenchResult {
  readonly bench: string
  readonly ours: number
  readonly baseline: number | null
  /** Ours to the baseline: the median of the ratios of the rounds; with several starts, the median of their medians. */
  readonly ratio: number | null
  readonly unit: string
  /** The goal in words, such as `ratio >= 0.9` or `<= 700 ms`. */
  readonly goal: string | null
  readonly met: boolean
}
