import { availableParallelism } from 'node:os'
import type { Run } from './run.ts'
import type { Expectation } from './run-history.ts'
import type { Sandbox } from './sandbox.ts'

/** Steps that one sandbox is sent ahead, at most. */
const deepest = 64
/** With so many steps before it, a run is better off in an idle sandbox, if there is a processor for that one. */
const deep = 16
/** Bytes of a module that is loaded within milliseconds. */
const small = 65_536
/** Asking the system takes longer than a short run. */
const processors = availableParallelism()

/**
 * Chooses the sandbox for a run: a busy one that admits it, otherwise an idle one.
 *
 * @param reserved an idle one that it may not have
 * @returns null when the run has to wait
 */
export function chooseSandbox(
  sandboxes: Iterable<Sandbox>,
  run: Run,
  expectation: Expectation,
  reserved: Sandbox | null,
): Sandbox | null {
  const { hash } = run.module
  let shared: Sandbox | null = null
  let idle: Sandbox | null = null
  let [resting, working] = [0, 0]
  for (const sandbox of sandboxes) {
    if (!sandbox.ready || sandbox.doomed || sandbox.memoryBytes !== run.limits.memoryBytes) continue
    if (!sandbox.busy) {
      resting += 1
      if (sandbox === reserved) continue
      if (idle === null || better(sandbox, idle, hash, expectation)) idle = sandbox
      continue
    }
    working += 1
    if (expectation === 'long' || sandbox.load >= deepest || !sandbox.admits(run, expectation)) continue
    if (shared === null || waiting(sandbox) < waiting(shared)) shared = sandbox
  }
  const usable = idle !== null && (resting > 1 || mayHave(idle, run, expectation)) ? idle : null
  if (shared === null) return usable
  // Where its module is still being loaded it is there sooner than it would be elsewhere.
  const spread = shared.load >= deep && working < processors - 1 && shared.knows(hash)
  return spread && usable !== null ? usable : shared
}

/**
 * The last sandbox of those which short runs share. It is not for runs of which one doesn't know that they are short:
 * they might not give it back.
 *
 * @returns null when there are several, or none
 */
export function lastToShare(
  sandboxes: Iterable<Sandbox>,
  { memoryBytes }: Pick<Sandbox, 'memoryBytes'>,
): Sandbox | null {
  let last: Sandbox | null = null
  for (const sandbox of sandboxes) {
    const { ready, doomed, exclusive, proving, yields } = sandbox
    if (!ready || doomed || exclusive || proving !== null || yields) continue
    if (sandbox.memoryBytes !== memoryBytes) continue
    if (last !== null) return null
    last = sandbox
  }
  return last
}

/** Whether a run may have the only idle sandbox, which others may have to wait for while its module is loaded. */
function mayHave({ modules }: Sandbox, { module }: Run, expectation: Expectation): boolean {
  return modules.size === 0 || modules.has(module.hash) || (expectation === 'short' && module.size <= small)
}

/** Of idle ones: that which has the module, is as fast as the run, and has the fewest modules to lose. */
function better(sandbox: Sandbox, than: Sandbox, hash: string, expectation: Expectation): boolean {
  const [has, had] = [sandbox.modules.has(hash), than.modules.has(hash)]
  if (has !== had) return has
  if (sandbox.yields !== than.yields) return sandbox.yields === (expectation === 'long')
  return sandbox.modules.size < than.modules.size
}

/** Who lets others go first may keep a run waiting for long. */
function waiting({ load, yields }: Sandbox): number {
  return yields ? load + deepest : load
}
