import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SyncStatus } from '../sync-engine.ts'
import { SyncFailure } from '../sync-failure.ts'
import { ownFolder } from '../sync-paths.ts'

/** The status of a synced folder as `nodekeep-sync status --json` prints it. */
interface PrintedStatus extends Omit<SyncStatus, 'problems'> {
  readonly folder: string
  readonly node: string
  /** The process of the client. */
  readonly pid: number
  /** Whether the client runs. */
  readonly isRunning: boolean
  /** The first paths that are not synced, each with the reason. */
  readonly problems: Readonly<Record<string, string>>
  /** Number of all paths that are not synced. */
  readonly problemCount: number
}

/** Paths that the status names. A node can make that each file is one, and the status is written twice a second. */
const mostProblems = 1000

const statusFile = (folder: string) => join(folder, ownFolder, 'status.json')
const pauseFile = (folder: string) => join(folder, ownFolder, 'paused')

/** Writes the status of the client of a folder for other commands. It is written only if it has changed. */
export class StatusFile {
  readonly #folder: string
  readonly #node: string
  #written = ''

  constructor(folder: string, node: string) {
    this.#folder = folder
    this.#node = node
  }

  async write(status: SyncStatus): Promise<void> {
    const { pid } = process
    const [folder, node, problemCount] = [this.#folder, this.#node, status.problems.size]
    const problems = Object.fromEntries(status.problems.entries().take(mostProblems))
    const printed: PrintedStatus = { folder, node, pid, isRunning: true, ...status, problems, problemCount }
    const text = JSON.stringify(printed)
    if (text === this.#written) return
    // The status of a client that has ended is of no use, so it need not survive a power cut.
    const temporary = `${statusFile(folder)}.new`
    await writeFile(temporary, text)
    await rename(temporary, statusFile(folder))
    this.#written = text
  }
}

/** The latest status of the client of a folder; `null` if it has written none. */
export async function readStatus(folder: string): Promise<PrintedStatus | null> {
  const text = await readFile(statusFile(folder), 'utf8').catch(() => null)
  if (text === null) return null
  const status = parse(text)
  if (status === null) return null
  return { ...status, isRunning: isAlive(status.pid), isPaused: await isPaused(folder) }
}

/** Lets the client of a folder pause, or go on. It also holds for its next start. */
export async function setPaused(folder: string, isPaused: boolean): Promise<void> {
  await stat(join(folder, ownFolder)).catch(() => {
    throw new SyncFailure('stop', `${folder} is not synced. Its disk may not be mounted.`)
  })
  if (isPaused) await writeFile(pauseFile(folder), '')
  else await rm(pauseFile(folder), { force: true })
}

export async function isPaused(folder: string): Promise<boolean> {
  return stat(pauseFile(folder)).then(
    () => true,
    () => false,
  )
}

/** A power failure may have damaged the file. */
function parse(text: string): PrintedStatus | null {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
