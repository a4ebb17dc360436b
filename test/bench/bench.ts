/** The goal of a figure: a ratio to the baseline, or a value in the unit of the bench. */
type Goal = { readonly ratio: number } | { readonly ours: number }

/** One row of the table. */
export interface Figure {
  /** A few words that begin with the part, such as `kernel: start`. */
  readonly name: string
  /** For example `ms`, `MB` or `requests/s`. */
  readonly unit: string
  /** Whether larger or smaller figures are better. */
  readonly better: 'more' | 'less'
  readonly goal?: Goal
}

/** A measurement. The default export of each file `test/bench/<part>.bench.ts` is a list of them. */
export interface Bench extends Figure {
  /** Further figures of the same rounds. */
  readonly also?: readonly Figure[]
  /** The program that the bench needs and this machine does not have. Such a bench is left out. */
  readonly missing?: string | false
  /** The number of rounds that count. Default: 5. */
  readonly rounds?: number
  /** Whether each round starts everything anew. Otherwise, one more round runs before the others and is ignored. */
  readonly fresh?: true
  /**
   * The number of times that everything is set up and measured again. Default: 1. Some processes run faster than others all
   * their life, depending on how V8 compiled them. More rounds do not show that; more starts do.
   */
  readonly starts?: number
  /** Prepares the rounds. */
  setUp(): Promise<BenchRun>
}

/** A prepared bench. Each call measures once: its figure, or that and the further figures, in their order. */
export interface BenchRun {
  ours(): Promise<number | readonly number[]>
  /** Measures the baseline that ours is compared with. */
  baseline?(): Promise<number | readonly number[]>
  tearDown?(): Promise<void>
}

/** The result of a figure. It is the median of the rounds; with several starts, the median of their medians. */
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
