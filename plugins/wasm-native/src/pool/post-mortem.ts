import type { NodekeepError, WasmLimits } from '@nodekeep/plugin-sdk'
import { memoryLimitReached } from './failures.ts'
import type { Run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Tells whether a sandbox died of what ran in it: V8 ends its process when its heap is full, and says so.
 *
 * @returns null when it died of something else
 */
export function causeOfDeath(sandbox: Sandbox, limits: WasmLimits): NodekeepError | null {
  return /out of memory|heap limit/i.test(sandbox.process.complaint) ? memoryLimitReached(limits) : null
}

/** The runs of a sandbox that neither it nor another one has answered. They are no longer its own. */
export function takeUnanswered(sandbox: Sandbox): Run[] {
  const sent = sandbox.steps.flatMap(({ kind, moved, run }) => (kind === 'load' || moved ? [] : [run]))
  return [...sent, ...sandbox.takeWaiting()].filter(({ settled }) => !settled)
}
