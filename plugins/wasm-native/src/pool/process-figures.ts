import { readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** Bytes of a process that are in RAM: the second figure of /proc/PID/statm, in pages (proc(5)). Linux only. */
export function residentBytes(pid: number | undefined): number | null {
  const pages = figure(`/proc/${pid}/statm`, 1)
  return pages === null ? null : pages * 4096
}

/** Milliseconds that a process has been running on a processor: the first figure of /proc/PID/schedstat. Linux only. */
export function processorMs(pid: number | undefined): number | null {
  const nanoseconds = figure(`/proc/${pid}/schedstat`, 0)
  return nanoseconds === null ? null : nanoseconds / 1e6
}

/**
 * Lets every other process go first, or no longer. Only the superuser may take the first back.
 *
 * @returns whether it was done
 */
export function yieldToOthers(pid: number | undefined, yields: boolean): boolean {
  if (pid === undefined) return false
  try {
    setPriority(pid, yields ? constants.priority.PRIORITY_LOW : constants.priority.PRIORITY_NORMAL)
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
