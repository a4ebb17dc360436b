import type { Run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/** How things stand in a pool. */
export interface Situation {
  readonly sandboxes: readonly Sandbox[]
  /** The runs that wait for a sandbox. */
  readonly line: readonly Run[]
  /** A sandbox that there is news of: it has become ready, or has died of what it did. */
  readonly occasion: Sandbox | null
  /** Whether there are runs that are known to take long, so that they have a sandbox for themselves. */
  readonly longRuns: boolean
  /** How many sandboxes there may be at once. */
  readonly most: number
}

/**
 * Decides whether there is to be another sandbox: one more than there is work for, so that the next run need not wait
 * for its start. Where some take long there is one more for those: they are never given the last.
 *
 * @returns the memory limit of the new one in bytes; one that has to end first; or null when all is well
 */
export function neededSandbox({
  sandboxes,
  line,
  occasion,
  longRuns,
  most,
}: Situation): { readonly memoryBytes: number } | { readonly end: Sandbox } | null {
  const like = line[0]?.limits ?? sandboxes.find(({ busy }) => busy) ?? occasion
  if (like === null) return null
  const { memoryBytes } = like
  const idle = sandboxes.filter(({ busy, doomed }) => !busy && !doomed)
  const fit = idle.filter((sandbox) => !sandbox.yields && sandbox.memoryBytes === memoryBytes)
  // They start one after the other; and who waits though there is an idle one is not to have the last.
  if (fit.some(({ ready }) => !ready) || fit.length > (line.length > 0 || longRuns ? 1 : 0)) return null
  if (sandboxes.length < most) return { memoryBytes }
  // Those with another memory limit are of no use to whoever waits.
  const useless = idle.find((sandbox) => sandbox.memoryBytes !== memoryBytes)
  return line.length > 0 && useless !== undefined ? { end: useless } : null
}
