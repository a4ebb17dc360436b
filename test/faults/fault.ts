import type { Random } from './random.ts'

/**
 * A random disturbance of a node that is repeated in rounds, such as a kill in the middle of a write. A file
 * `test/faults/<part>.faults.ts` exports one as its default.
 */
export interface Fault {
  /** The claim that must hold, in one sentence. */
  readonly name: string
  /** The reason not to run on this machine, such as a missing program. */
  readonly missing?: string | false
  /** Number of rounds without `--rounds`. */
  readonly defaultRounds: number
  /** Seconds after which a round fails. Default: 120. */
  readonly roundSeconds?: number
  /** Runs one round. All its random choices come from `random`, so its seed repeats the round. */
  round(round: Round): Promise<void>
}

/** The parts that a round works with. */
export interface Round {
  readonly seed: number
  readonly random: Random
  /** Aborted when the round times out. */
  readonly signal: AbortSignal
  /** Records a line that is printed if the round fails. */
  log(line: string): void
}
