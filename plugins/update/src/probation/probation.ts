import { setTimeout } from 'node:timers/promises'
import { type Log, withTimeLimit } from '@nodekeep/plugin-sdk'
import { type Look, missingLook } from './looks.ts'

interface ProbationParts {
  /** The looks at the parts that the node has now. */
  readonly looks: () => readonly Look[]
  readonly log: Pick<Log, 'warn'>
  /** Aborted when the plugin stops. */
  readonly signal: AbortSignal
  /** The pause between two rounds, in milliseconds. */
  readonly everyMs?: number
}

const defaultEveryMs = 10_000
const lookMs = 15_000

/** Runs all looks once. Returns the names of those that the node passes. */
export async function passedLooks(looks: readonly Look[], signal: AbortSignal): Promise<string[]> {
  const problems = await Promise.all(looks.map((look) => problemOf(look, signal)))
  return looks.filter((_, at) => problems[at] === null).map(({ name }) => name)
}

/**
 * Watches a new version for some minutes, as its users see it. Only what the former version could do is required, since anything
 * else is no fault of the new one. A part that fails without a break for longer than its patience ends the probation.
 *
 * @param passed the names of the looks that the former version has passed
 * @param lastsMs the time that is left of the probation
 * @returns `null` if the version has passed, otherwise one sentence about what does not work
 * @throws the signal's reason
 */
export async function watchVersion(
  passed: readonly string[],
  lastsMs: number,
  { looks, log, signal, everyMs = defaultEveryMs }: ProbationParts,
): Promise<string | null> {
  const endsAt = performance.now() + lastsMs
  const failingSince = new Map<string, number>()
  for (;;) {
    const now = new Map(looks().map((look) => [look.name, look]))
    const round = passed.flatMap((name) => now.get(name) ?? missingLook(name) ?? [])
    const problems = await Promise.all(round.map((look) => problemOf(look, signal)))
    signal.throwIfAborted()
    for (const [at, { name, patienceMs }] of round.entries()) {
      const problem = problems[at] ?? null
      if (problem === null) failingSince.delete(name)
      else {
        const since = failingSince.get(name) ?? performance.now()
        failingSince.set(name, since)
        log.warn({ look: name, problem }, 'The new version does not pass a look.')
        if (performance.now() - since >= patienceMs) return problem
      }
    }
    if (performance.now() >= endsAt && failingSince.size === 0) return null
    await setTimeout(everyMs, undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}

/** Returns one sentence about what does not work; `null` if everything does. */
async function problemOf({ name, look }: Look, signal: AbortSignal): Promise<string | null> {
  const late = AbortSignal.any([signal, AbortSignal.timeout(lookMs)])
  try {
    await withTimeLimit(look(late), lookMs + 1000, `The look "${name}" took too long.`, signal)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}
