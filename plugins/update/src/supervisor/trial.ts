import { setTimeout as delay } from 'node:timers/promises'
import type { NodeProcess } from './node-process.ts'

/** The time in which a release may become healthy after its start, and the time between two checks, in milliseconds. */
const healthMs = 15_000
const healthEveryMs = 250

/**
 * Waits until a node on trial is healthy.
 *
 * @param trialMs the maximum time for its start and its health
 * @param stopped aborted when the supervisor has to end
 * @returns the migrations of its start that the former release cannot undo, by name
 * @throws Error with the reason for a failure, in one sentence for people
 */
export async function passTrial(
  node: NodeProcess,
  trialMs: number,
  stopped: AbortSignal,
): Promise<readonly string[]> {
  const failure = Promise.withResolvers<never>()
  failure.promise.catch(() => {})
  const fail = (reason: string) => failure.reject(new Error(reason))
  const stop = () => fail('The supervisor was stopped during the change.')
  if (stopped.aborted) stop()
  stopped.addEventListener('abort', stop)
  const limit = setTimeout(fail, trialMs, `It was not ready within ${trialMs / 1000} s.`)
  void node.ended.then(({ reason }) => fail(reason))
  try {
    const contractions = await Promise.race([node.onTrial, failure.promise])
    const began = performance.now()
    for (;;) {
      const { serving, failing } = await Promise.race([node.health(), failure.promise])
      if (serving) return contractions
      if (performance.now() - began > healthMs) throw new Error(`It is not healthy: ${failing.join(', ')}.`)
      await Promise.race([delay(healthEveryMs), failure.promise])
    }
  } finally {
    clearTimeout(limit)
    stopped.removeEventListener('abort', stop)
  }
}
