import type { Sandbox } from './sandbox.ts'

/**
 * Ends what a sandbox does, and itself. With a module that cannot be loaded, all who wait for it have their answer.
 *
 * @param reason what the caller is told; null when nobody is there to be told
 */
export function endOverdue(sandbox: Sandbox, reason: Error | null): void {
  const [head, ...behind] = sandbox.steps
  if (head !== undefined && reason !== null) {
    head.run.reject(reason)
    if (head.kind === 'load') for (const { run } of behind) run.reject(reason)
  }
  sandbox.end()
}
