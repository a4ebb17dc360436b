import type { Run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * Decides whether there is to be another sandbox: one more than there is work for, so that the next run need not wait
 * for its start.
 *
 * @param most how many there may be at once
 * @returns the memory limit of the new one in bytes; one that has to end first; or null when all is well
 */
export function neededSandbox(
  sandboxes: readonly Sandbox[],
  line: readonly Run[],
  most: number,
): { readonly memoryBytes: number } | { readonly end: Sandbox } | null {
  const like = line[0]?.limits ?? sandboxes.find(({ busy }) => busy)
  if (like === undefined) return null
  const { memoryBytes } = like
  const idle = sandboxes.filter(({ busy, doomed }) => !busy && !doomed)
  const fit = idle.filter((sandbox) => !sandbox.yields && sandbox.memoryBytes === memoryBytes)
  // They start one after the other; and who waits though there is an idle one is not to have the last.
  if (fit.some(({ ready }) => !ready) || fit.length > (line.length > 0 ? 1 : 0)) return null
  if (sandboxes.length < most) return { memoryBytes }
  // Those with another memory limit are of no use to whoever waits.
  const useless = idle.find((sandbox) => sandbox.memoryBytes !== memoryBytes)
  return line.length > 0 && useless !== undefined ? { end: useless } : null
}
