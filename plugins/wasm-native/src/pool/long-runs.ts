import type { Run } from './run.ts'
import type { RunHistory } from './run-history.ts'
import type { Sandbox } from './sandbox.ts'

/** Processes that are kept free of runs which take long. */
const kept = 2

/** How many sandboxes there are that runs have for themselves, since they take long or may do so. */
export interface LongRuns {
  readonly inAll: number
  readonly byCaller: ReadonlyMap<string, number>
}

export function longRunsOf(sandboxes: Iterable<Sandbox>): LongRuns {
  let inAll = 0
  const byCaller = new Map<string, number>()
  for (const { busy, exclusive, steps } of sandboxes) {
    if (!busy || !exclusive) continue
    inAll += 1
    const caller = steps[0]?.run.caller
    if (caller !== undefined) byCaller.set(caller, (byCaller.get(caller) ?? 0) + 1)
  }
  return { inAll, byCaller }
}

/**
 * Whether so many long runs are too many: those of one caller leave room for another caller's, and all of them together
 * leave processes for whoever is quick.
 */
export function tooManyLongRuns({ inAll, byCaller }: LongRuns, caller: string, processes: number): boolean {
  const most = processes - kept
  const mostOfOne = Math.max(1, Math.floor(most / 2))
  return inAll > most || (byCaller.get(caller) ?? 0) > mostOfOne
}

/** The same with one more of a caller. */
export function withOneMore({ inAll, byCaller }: LongRuns, caller: string): LongRuns {
  return { inAll: inAll + 1, byCaller: new Map(byCaller).set(caller, (byCaller.get(caller) ?? 0) + 1) }
}

/**
 * Puts runs into the order in which they are to have a sandbox: first those that are short, which give it back at once.
 * In each part callers take turns, and those who have fewer long runs already come first.
 *
 * @param runs in the order in which they came
 */
export function orderOf(
  runs: readonly Run[],
  running: LongRuns,
  history: Pick<RunHistory, 'expects'>,
): readonly Run[] {
  const { short = [], other = [] } = Object.groupBy(runs, (run) =>
    history.expects(run) === 'short' ? 'short' : 'other',
  )
  return [...inTurns(short, running), ...inTurns(other, running)]
}

function inTurns(runs: readonly Run[], { byCaller }: LongRuns): Run[] {
  const turns = new Map(byCaller)
  const ranked = runs.map((run) => {
    const rank = turns.get(run.caller) ?? 0
    turns.set(run.caller, rank + 1)
    return { run, rank }
  })
  return ranked.sort((one, other) => one.rank - other.rank).map(({ run }) => run)
}
