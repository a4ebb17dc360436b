import type { Disk } from '../disk/disk.ts'
import { type Folder, openDirectly } from './folder.ts'

/** So many folders are kept open for the next one who needs them, so long, in milliseconds. */
const KEPT = 32
const keptMs = 1000

/** The folder that a tree of files begins with. Its close is that of the folder, too. */
export interface Root extends Folder {
  /** Opens the folder at these names if one step leads exactly there; see {@link openDirectly}. */
  direct(names: readonly string[]): Promise<Folder | null>
  /** Whether the folder at these names is open already, and still there. */
  isOpen(names: readonly string[]): boolean
}

interface Kept {
  readonly folder: Folder
  readonly since: number
  /** The moment in which the system was asked last where it is. */
  seen: object
  users: number
}

/**
 * Makes a root of a folder. It keeps folders that were used a moment ago. Before one of them is used again, the system
 * is asked where it is now: one that was moved, removed or replaced is somewhere else. Only what is mounted over a
 * folder wouldn't show, hence the short time.
 */
export function createRoot(disk: Disk, root: Folder): Root {
  const kept = new Map<string, Kept>()
  const moment = currentMoment()
  const prefix = root.path === '/' ? '/' : `${root.path}/`
  let timer: NodeJS.Timeout | undefined

  function lend(entry: Kept): Folder {
    entry.users += 1
    let returned = false
    return {
      ...entry.folder,
      close() {
        if (returned) return
        returned = true
        entry.users -= 1
        if (entry.users === 0 && kept.get(entry.folder.path) !== entry) entry.folder.close()
      },
    }
  }

  function keep(entry: Kept): void {
    drop(entry.folder.path)
    const [oldest] = kept.keys()
    if (kept.size >= KEPT && oldest !== undefined) drop(oldest)
    kept.set(entry.folder.path, entry)
    timer ??= setInterval(dropOld, keptMs).unref()
  }

  function drop(path: string): void {
    const entry = kept.get(path)
    kept.delete(path)
    if (entry?.users === 0) entry.folder.close()
  }

  function dropOld(): void {
    for (const [path, { since }] of kept) if (Date.now() - since >= keptMs) drop(path)
    if (kept.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  /** One answer of the system is good for all who ask in the same turn: between them nothing else could be done either. */
  function isThere(entry: Kept): boolean {
    const { folder, since, seen } = entry
    const now = moment()
    if (seen === now) return true
    if (Date.now() - since >= keptMs || disk.readlinkSync(`/proc/self/fd/${folder.fd}`) !== folder.path)
      return false
    entry.seen = now
    return true
  }

  function known(names: readonly string[]): Kept | null {
    const entry = kept.get(prefix + names.join('/'))
    return entry !== undefined && isThere(entry) ? entry : null
  }

  return {
    ...root,
    isOpen: (names) => names.length === 0 || known(names) !== null,
    async direct(names) {
      const there = known(names)
      if (there !== null) return lend(there)
      const folder = await openDirectly(disk, root, names)
      if (folder === null) return null
      const entry = { folder, since: Date.now(), seen: moment(), users: 0 }
      keep(entry)
      return lend(entry)
    },
    close() {
      for (const path of [...kept.keys()]) drop(path)
      dropOld()
      root.close()
    },
  }
}

/** Gives the same object to all who ask in one turn of the event loop. */
function currentMoment(): () => object {
  let moment: object | null = null
  const end = () => {
    moment = null
  }
  return () => {
    if (moment === null) {
      moment = {}
      setImmediate(end)
    }
    return moment
  }
}
