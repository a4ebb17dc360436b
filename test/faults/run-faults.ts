import { addCounts, type Counts } from '../run/count-tests.ts'
import type { Fault } from './fault.ts'
import { randomOf } from './random.ts'

/** Options of a run. */
export interface FaultsOptions {
  /** The seed of the first round of each part. The next rounds count up from it. */
  readonly seed: number
  /** Number of rounds, instead of each part's own. */
  readonly rounds?: number
  /** Minutes after which no further round begins. The parts share this time. */
  readonly minutes: number
  /** Prints a line. */
  readonly print: (line: string) => void
}

/** Runs the rounds of each part, and counts them. A failure is printed with the command that repeats it. */
export async function runFaults(parts: ReadonlyMap<string, Fault>, options: FaultsOptions): Promise<Counts> {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const end = performance.now() + options.minutes * 60_000
  let left = parts.size
  for (const [part, fault] of parts) {
    const now = performance.now()
    addCounts(counts, await runPart(part, fault, options, now + (end - now) / left))
    left -= 1
  }
  return counts
}

async function runPart(part: string, fault: Fault, options: FaultsOptions, end: number): Promise<Counts> {
  const { print, rounds = fault.defaultRounds } = options
  const counts = { passed: 0, failed: 0, skipped: 0 }
  print(`${part}: ${fault.name} (${rounds} rounds)`)
  if (fault.missing) {
    print(`  not run: ${fault.missing}`)
    return { ...counts, skipped: rounds }
  }
  for (let round = 0; round < rounds; round += 1) {
    if (performance.now() > end) {
      counts.skipped = rounds - round
      print(`  time is up; ${counts.skipped} rounds were not run`)
      break
    }
    const failure = await runRound(fault, options.seed + round)
    if (failure === undefined) {
      counts.passed += 1
      continue
    }
    counts.failed += 1
    print(`  round ${round + 1} failed:\n${failure}`)
    print(`  repeat it: npm run test:faults -- ${part} --rounds 1 --seed ${options.seed + round}`)
  }
  return counts
}

/** Returns the lines that the round logged and its error, or undefined when it passed. */
async function runRound(fault: Fault, seed: number): Promise<string | undefined> {
  const { roundSeconds = 120 } = fault
  const lines: string[] = []
  const control = new AbortController()
  const overtime = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    const error = new Error(`The round took longer than ${roundSeconds} s.`)
    control.abort(error)
    overtime.reject(error)
  }, roundSeconds * 1000)
  try {
    const round = {
      seed,
      random: randomOf(seed),
      signal: control.signal,
      log: (line: string) => lines.push(line),
    }
    await Promise.race([fault.round(round), overtime.promise])
    return undefined
  } catch (error) {
    return [...lines, error instanceof Error ? error.stack : String(error)]
      .map((line) => `    ${line}`)
      .join('\n')
  } finally {
    clearTimeout(timer)
  }
}
