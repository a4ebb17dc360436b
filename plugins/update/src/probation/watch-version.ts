import { setTimeout } from 'node:timers/promises'
import { type Log, messageOf, withTimeLimit } from '@nodekeep/plugin-sdk'
import { missingProbe, type Probe } from './probes.ts'

interface WatchServices {
  /** The probes of the parts that the node has now. */
  readonly probes: () => readonly Probe[]
  readonly log: Pick<Log, 'warn'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
}

interface WatchOptions {
  /** The time that is left of the probation, in milliseconds. */
  readonly lastsMs: number
  /** The pause between two rounds, in milliseconds. */
  readonly everyMs?: number
}

const defaultEveryMs = 10_000
const probeMs = 15_000

/** Runs all probes once. Returns the names of those that the node passes. */
export async function passedProbes(probes: readonly Probe[], signal: AbortSignal): Promise<string[]> {
  const problems = await Promise.all(probes.map((probe) => problemOf(probe, signal)))
  return probes.filter((_, at) => problems[at] === null).map(({ name }) => name)
}

/**
 * Watches a new version for some minutes, as its users see it. Only what the former version could do is required, since anything
 * else is no fault of the new one. A part that fails without a break for longer than its limit ends the probation.
 *
 * @param passed the names of the probes that the former version has passed
 * @returns `null` if the version has passed, otherwise one sentence about what does not work
 * @throws the signal's reason
 */
export async function watchVersion(
  passed: readonly string[],
  { probes, log, signal }: WatchServices,
  { lastsMs, everyMs = defaultEveryMs }: WatchOptions,
): Promise<string | null> {
  const endsAt = performance.now() + lastsMs
  const failingSince = new Map<string, number>()
  for (;;) {
    const now = new Map(probes().map((probe) => [probe.name, probe]))
    const round = passed.flatMap((name) => now.get(name) ?? missingProbe(name) ?? [])
    const problems = await Promise.all(round.map((probe) => problemOf(probe, signal)))
    signal.throwIfAborted()
    for (const [at, { name, maxFailingMs }] of round.entries()) {
      const problem = problems[at] ?? null
      if (problem === null) failingSince.delete(name)
      else {
        const since = failingSince.get(name) ?? performance.now()
        failingSince.set(name, since)
        log.warn({ probe: name, problem }, 'The new version fails a probe.')
        if (performance.now() - since >= maxFailingMs) return problem
      }
    }
    if (performance.now() >= endsAt && failingSince.size === 0) return null
    await setTimeout(everyMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** Returns one sentence about what does not work; `null` if everything does. */
async function problemOf({ name, run }: Probe, signal: AbortSignal): Promise<string | null> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(probeMs)])
  try {
    await withTimeLimit(run(late), probeMs + 1000, `The probe "${name}" took too long.`, signal)
    return null
  } catch (error) {
    return messageOf(error)
  }
}
