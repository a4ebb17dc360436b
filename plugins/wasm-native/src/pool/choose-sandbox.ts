import { availableParallelism } from 'node:os'
import type { Run } from './run.ts'
import type { Sandbox } from './sandbox.ts'

/** Steps that one sandbox is sent ahead, at most. */
const deepest = 64
/** With so many steps before it, a run is better off in an idle sandbox, if there is a processor for that one. */
const deep = 16
/** Asking the system takes longer than a short run. */
const processors = availableParallelism()

/**
 * Chooses the sandbox for a run: a busy one that admits it, otherwise an idle one.
 *
 * @param alone whether the run may take long, so that it has to have a sandbox for itself
 * @returns null when the run has to wait
 */
export function chooseSandbox(sandboxes: Iterable<Sandbox>, run: Run, alone: boolean): Sandbox | null {
  const { hash } = run.module
  let shared: Sandbox | null = null
  let idle: Sandbox | null = null
  let [resting, working] = [0, 0]
  for (const sandbox of sandboxes) {
    if (!sandbox.ready || sandbox.doomed || sandbox.memoryBytes !== run.limits.memoryBytes) continue
    if (!sandbox.busy) {
      resting += 1
      if (idle === null || better(sandbox, idle, hash, alone)) idle = sandbox
      continue
    }
    working += 1
    if (alone || sandbox.load >= deepest || !sandbox.admits(hash)) continue
    if (shared === null || waiting(sandbox) < waiting(shared)) shared = sandbox
  }
  const usable = idle !== null && (resting > 1 || mayHave(idle, hash)) ? idle : null
  if (shared === null) return usable
  // Where its module is still being loaded it is there sooner than it would be elsewhere.
  const spread = shared.load >= deep && working < processors - 1 && shared.knows(hash)
  return spread && usable !== null ? usable : shared
}

/**
 * Whether a sandbox may be given to a run when no other one is left. A module that is new to it might not give it back
 * for long, while those that were run here are known, and their next callers come back to it.
 */
function mayHave({ modules }: Sandbox, hash: string): boolean {
  return modules.size === 0 || modules.has(hash)
}

/** Of idle ones: that which has the module, is as fast as the run, and has the fewest modules to lose. */
function better(sandbox: Sandbox, than: Sandbox, hash: string, alone: boolean): boolean {
  const [has, had] = [sandbox.modules.has(hash), than.modules.has(hash)]
  if (has !== had) return has
  if (sandbox.yields !== than.yields) return sandbox.yields === alone
  return sandbox.modules.size < than.modules.size
}

/** Who lets others go first may keep a run waiting for long. */
function waiting({ load, yields }: Sandbox): number {
  return yields ? load + deepest : load
}
