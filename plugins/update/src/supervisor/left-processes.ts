import { readdirSync, readFileSync } from 'node:fs'

/**
 * The variable by which the processes of a node are known: its value is the folder for releases. A process that the node starts has it
 * too, also one with a session of its own, unless it is given another environment.
 */
const variable = 'SUPERVISED_NODE'

/** Returns the variable for the node of a folder for releases. */
export function markOf(releases: string): Readonly<Record<string, string>> {
  return { [variable]: releases }
}

/**
 * Kills the processes that a node has left behind. They may hold its socket, and take connections from the next node. Only Linux tells
 * the environment of processes; elsewhere, none is found.
 *
 * @returns their ids
 */
export function killLeftProcesses(releases: string): number[] {
  const killed = new Set<number>()
  // A process may start another one before it is killed.
  for (let count = -1; count < killed.size; ) {
    count = killed.size
    for (const pid of marked(`\0${variable}=${releases}\0`)) {
      killed.add(pid)
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  return [...killed]
}

function marked(mark: string): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) return []
    try {
      return `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`.includes(mark) ? [pid] : []
    } catch {
      // It has ended, or belongs to another account.
      return []
    }
  })
}
