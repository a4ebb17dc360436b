import { availableParallelism } from 'node:os'
import type { Run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/** Steps that one sandbox is sent ahead, at most. */
const deepest = 64
/** With so many steps before it, a run is better off in an idle sandbox, if there is a processor for that one. */
const deep = 16

/**
 * Chooses the sandbox for a run: one that has its module and nothing slow before it, otherwise an idle one.
 *
 * @param alone whether the run may take long, so that nothing else is to wait behind it
 * @returns null when the run has to wait
 */
export function chooseSandbox(sandboxes: Iterable<Sandbox>, run: Run, alone: boolean): Sandbox | null {
  const { hash } = run.module
  let sharing: Sandbox | null = null
  let idle: Sandbox | null = null
  let working = 0
  for (const sandbox of sandboxes) {
    if (sandbox.state !== 'ready' || sandbox.memoryBytes !== run.limits.memoryBytes) continue
    if (sandbox.killedFor !== null) continue
    if (!sandbox.busy) {
      if (idle === null || preference(sandbox, hash, alone) > preference(idle, hash, alone)) idle = sandbox
    } else if (!sandbox.slow) working += 1
    if (alone || sandbox.slow || !sandbox.has(hash) || sandbox.load >= deepest) continue
    if (sharing === null || sandbox.load < sharing.load) sharing = sandbox
  }
  if (sharing === null) return idle
  const spread = sharing.load >= deep && working < availableParallelism() - 1
  return spread && idle !== null ? idle : sharing
}

/** Among idle ones: that which has the module, and of those the one that is as fast as the run. */
function preference(sandbox: Sandbox, hash: string, alone: boolean): number {
  return (sandbox.slow === alone ? 2 : 0) + (sandbox.has(hash) ? 1 : 0)
}
