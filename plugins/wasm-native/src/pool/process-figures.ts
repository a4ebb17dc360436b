import { readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** Bytes of a process that are in RAM: the second figure of /proc/PID/statm, in pages (proc(5)). Linux only. */
export function residentBytes(pid: number | undefined): number | null {
  const pages = figure(`/proc/${pid}/statm`, 1)
  return pages === null ? null : pages * 4096
}

/**
 * Milliseconds that a process could have run and had no processor: the second figure of /proc/PID/schedstat
 * (https://docs.kernel.org/scheduler/sched-stats.html). Linux only.
 */
export function waitedMs(pid: number | undefined): number | null {
  const nanoseconds = figure(`/proc/${pid}/schedstat`, 1)
  return nanoseconds === null ? null : nanoseconds / 1e6
}

/** Of the processor's time it gets a tenth of what others get. Where nobody else wants any, it gets all. */
const yielding = 10

/**
 * Lets other processes go first, or no longer. Only the superuser may take the first back.
 *
 * @returns whether it was done
 */
export function yieldToOthers(pid: number | undefined, yields: boolean): boolean {
  if (pid === undefined) return false
  try {
    setPriority(pid, yields ? yielding : constants.priority.PRIORITY_NORMAL)
    return true
  } catch {
    return false
  }
}

function figure(file: string, index: number): number | null {
  try {
    const value = Number(readFileSync(file, 'latin1').split(' ')[index])
    return Number.isFinite(value) ? value : null
  } catch {
    return null
  }
}
