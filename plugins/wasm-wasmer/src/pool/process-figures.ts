import { readdirSync, readFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/** Bytes of a process that are in RAM: the second figure of /proc/PID/statm, in pages (proc(5)). Linux only. */
export function residentBytes(pid: number | undefined): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096
  } catch {
    return null
  }
}

/**
 * Milliseconds that all threads of a process have been running on processors: utime and stime of /proc/PID/stat, in
 * hundredths of a second (proc(5)). Linux only.
 */
export function processorMs(pid: number | undefined): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name may hold anything; behind it begins the third field.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return null
  }
}

/**
 * Milliseconds for which the threads of a process could have run and had no processor: the second figure of
 * /proc/PID/task/TID/schedstat, in nanoseconds, of all that there are. Linux only.
 *
 * @see https://docs.kernel.org/scheduler/sched-stats.html
 */
export function waitedMs(pid: number | undefined): number | null {
  try {
    const waits = threadsOf(pid).map((thread) => {
      const figures = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')
      return Number(figures[1]) / 1e6
    })
    return waits.reduce((sum, wait) => sum + wait, 0)
  } catch {
    return null
  }
}

/** Lets other processes go before this one, with all threads that it has; those that it starts are like them. */
export function yieldToOthers(pid: number | undefined): void {
  for (const thread of threadsOf(pid)) {
    try {
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL)
    } catch {
      // It has ended, or the system does not let it: then it goes without.
    }
  }
}

/** On Linux each thread has a priority of its own, which is set by its number. */
function threadsOf(pid: number | undefined): number[] {
  if (pid === undefined) return []
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number)
  } catch {
    return [pid]
  }
}
