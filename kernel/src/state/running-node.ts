import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '@nodekeep/plugin-sdk'
import { type DataLock, lockHolder } from '@nodekeep/plugin-sdk/data-folder'

/** A node that runs on a data folder. */
interface RunningProcess {
  readonly pid: number
  /** When it took the data folder. */
  readonly since: Date
  /** The address on this machine; `null` while the node does not listen, as during its start. */
  readonly url: URL | null
}

/** The content of the file, which is valid as long as the lock has the same holder. */
interface Announcement {
  readonly lock: string
  readonly url: string
}

/**
 * Writes where the node listens to `<folder>/address.json`: with the port 0 or `--port`, the configuration does not tell.
 *
 * A full disk must not keep the node from serving: without the file, only the command line does not find it.
 *
 * @returns removes the file
 */
export function announceAddress(folder: string, lock: DataLock, url: URL, log: Log): () => void {
  const file = fileIn(folder)
  const announcement: Announcement = { lock: lock.token, url: url.href }
  try {
    writeFileSync(file, JSON.stringify(announcement), { mode: 0o600 })
    return () => rmSync(file, { force: true })
  } catch (err) {
    log.warn({ err }, 'The address of the node could not be stored for the command line.')
    return () => {}
  }
}

/** Returns the node that runs on a data folder; `null` when there is none. A file that a crash left behind does not count. */
export function findRunningNode(folder: string): RunningProcess | null {
  const holder = lockHolder(folder)
  if (holder === null) return null
  const { pid, since, token } = holder
  const announced = readAnnouncement(folder)
  return { pid, since: new Date(since), url: announced?.lock === token ? new URL(announced.url) : null }
}

function readAnnouncement(folder: string): Announcement | null {
  try {
    return JSON.parse(readFileSync(fileIn(folder), 'utf8')) as Announcement
  } catch {
    return null
  }
}

function fileIn(folder: string): string {
  return join(folder, 'address.json')
}
