import type { Random } from './random.ts'

/**
 * Something that is done to a node by chance, over and over: killed in the middle of a write, starved, disturbed.
 * A file `test/faults/<part>.faults.ts` exports one as its default.
 */
export interface Fault {
  /** What must hold, in one sentence. */
  readonly name: string
  /** How many rounds are run when nobody says. */
  readonly defaultRounds: number
  /** A round that takes longer has failed; 120 seconds when not given. */
  readonly roundSeconds?: number
  /** One round. Everything that it does by chance comes from `random`, so that its seed repeats it. */
  round(round: Round): Promise<void>
}

/** What a round gets. */
export interface Round {
  readonly seed: number
  readonly random: Random
  /** Aborted when the round's time is over. */
  readonly signal: AbortSignal
  /** Keeps a line, which is printed when the round fails. */
  log(line: string): void
}
