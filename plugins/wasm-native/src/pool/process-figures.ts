import { readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Bytes of a process that are in RAM: the second figure of /proc/PID/statm, in pages (proc(5)). Linux only. */
export function residentBytes(pid: number | undefined): number | null {
  const pages = figures(`/proc/${pid}/statm`)?.[1]
  return pages === undefined ? null : pages * 4096
}

/** What a process has had of the processors since it began, in milliseconds. */
export interface ProcessorTimes {
  readonly hadMs: number
  /** For how long it could have run, and had none. The wait that lasts is not in it yet. */
  readonly waitedMs: number
}

/** From /proc/PID/schedstat (https://docs.kernel.org/scheduler/sched-stats.html). Linux only. */
export function processorTimes(pid: number | undefined): ProcessorTimes | null {
  const nanoseconds = figures(`/proc/${pid}/schedstat`)
  if (nanoseconds === null) return null
  const [had = 0, waited = 0] = nanoseconds
  return { hadMs: had / 1e6, waitedMs: waited / 1e6 }
}

/** Sandboxes give way to the node a little: everybody waits for that, and for a sandbox only who calls. */
const usual = 3
/** Of the processor's time it gets a tenth of what others get. Where nobody else wants any, it gets all. */
const yielding = 10

/**
 * Lets all other processes go first, or the node only, a little. Only the superuser may take the first back.
 *
 * @returns whether it was done
 */
export function yieldToOthers(pid: number | undefined, yields: boolean): boolean {
  if (pid === undefined) return false
  try {
    setPriority(pid, yields ? yielding : usual)
    return true
  } catch {
    return false
  }
}

function figures(file: string): number[] | null {
  try {
    return readFileSync(file, 'latin1').split(' ').map(Number)
  } catch {
    return null
  }
}
