/** What a figure is held to: as a share of the baseline, or by itself in the bench's unit. */
export type Goal = { readonly ratio: number } | { readonly ours: number }

/** Something that is measured. A file `test/bench/<part>.bench.ts` exports a list of them as its default. */
export interface Bench {
  /** What is measured, in a few words; it starts with the part, such as `kernel: start`. */
  readonly name: string
  /** Such as `ms`, `MB` or `requests/s`. */
  readonly unit: string
  /** Which figures are the good ones. */
  readonly better: 'more' | 'less'
  readonly goal?: Goal
  /** How many rounds count; 5 when not given. One more comes before them and is thrown away. */
  readonly rounds?: number
  /**
   * How many times all is set up anew and measured so; 1 when not given. Some processes run faster than others all their
   * life, by how V8 happened to compile them, and no number of rounds tells of that.
   */
  readonly starts?: number
  /** Sets up what the rounds need. */
  setUp(): Promise<BenchRun>
}

/** A bench that is set up: each call measures once. */
export interface BenchRun {
  ours(): Promise<number>
  /** The same by the means that ours is compared with. */
  baseline?(): Promise<number>
  tearDown?(): Promise<void>
}

/** What a bench came to. The figures are medians of the rounds, and with several starts the medians of these. */
export interface BenchResult {
  readonly bench: string
  readonly ours: number
  readonly baseline: number | null
  /** Of ours to the baseline: the median of the rounds' ratios, and with several starts the median of these. */
  readonly ratio: number | null
  readonly unit: string
  /** The goal in words, such as `ratio >= 0.9` or `<= 700 ms`. */
  readonly goal: string | null
  readonly met: boolean
}
