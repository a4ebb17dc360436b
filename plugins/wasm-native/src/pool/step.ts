import type { ProcessorTimes } from './process-figures.ts'
import type { Run, Work } from './run.ts'

export interface Seen {
  /** When it was looked at last, as `performance.now()`. */
  at: number
  /** How long it has been running then, in milliseconds. */
  elapsedMs: number
  /** What its process had had of the processors when it was looked at first. */
  readonly before: ProcessorTimes
}

/** Something that a sandbox was sent and has not answered yet. */
export interface Step {
  readonly kind: 'load' | Work['kind']
  /** On whose account it is; of a module that is loaded, whoever wanted it first. */
  readonly run: Run
  /** When the sandbox began with it, or with loading its module, as `performance.now()`; infinite before that. */
  began: number
  /** Whether the run was given to another sandbox, since this one is held up. */
  moved: boolean
  /** What the looks at it have shown so far. */
  seen: Seen | null
  /** Whether it is known to hold others up. */
  holding: boolean
}

export function newStep(kind: Step['kind'], run: Run): Step {
  return { kind, run, began: Number.POSITIVE_INFINITY, moved: false, seen: null, holding: false }
}
