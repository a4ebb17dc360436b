import { type BackupOmission, Mutex } from '@nodekeep/plugin-sdk'
import type { Disk } from '../disk/disk.ts'
import { unlessMissing } from '../disk/disk-errors.ts'
import { type Folder, find, openChild } from './folder.ts'
import { allOf, entriesAtOnce, foldersAtOnce, linkEntry, linkTree, unlessGone } from './link-tree.ts'
import { shownName, storedForms } from './stored-names.ts'
import { openFolder } from './walk.ts'

/**
 * Paths that have changed: names that are joined with `/`, as the node shows them. True if whole folders may have moved there
 * or away.
 */
export type ChangedPaths = ReadonlyMap<string, boolean>

/** Entries of one folder that have changed: whether whole folders may have moved, by name. */
type ChangedEntries = Map<string, boolean>

/** One error for all copies: a catch-up reached its limit. */
const limitReached = new Error('Too many entries have changed')

/** A copy of a tree, of folders and hard links, that follows the changes of the tree. */
export class LinkedCopy {
  readonly #disk: Disk
  readonly #from: Folder
  readonly #to: Folder
  readonly #setAside: (path: string) => Promise<void>
  readonly #signal: AbortSignal
  readonly #repairs = new Mutex()
  /** The reasons, by path. */
  readonly #omitted = new Map<string, string>()
  /** The entries that may still be linked. */
  #allowed = Number.POSITIVE_INFINITY

  /** @param setAside takes a folder out of the copy in one step */
  constructor(
    disk: Disk,
    from: Folder,
    to: Folder,
    setAside: (path: string) => Promise<void>,
    signal: AbortSignal,
  ) {
    this.#disk = disk
    this.#from = from
    this.#to = to
    this.#setAside = setAside
    this.#signal = signal
  }

  /** Links the whole tree into the empty copy. */
  async link(): Promise<void> {
    await this.#linkTree(this.#from, this.#to, [])
    this.#signal.throwIfAborted()
  }

  /**
   * Makes the copy equal to the tree at paths where it has changed.
   *
   * @param maxEntries the files and folders that may be linked
   * @returns false if there are more. The copy then lacks some of these changes: catch up with the same paths again
   */
  async catchUp(changed: ChangedPaths, maxEntries = Number.POSITIVE_INFINITY): Promise<boolean> {
    this.#allowed = maxEntries
    try {
      await this.#catchUp(changed)
      return true
    } catch (error) {
      if (error !== limitReached) throw error
      return false
    } finally {
      this.#allowed = Number.POSITIVE_INFINITY
    }
  }

  async #catchUp(changed: ChangedPaths): Promise<void> {
    if (changed.size === 0) return
    this.#forgetOmissions(changed)
    const folders = new Map<string, ChangedEntries>()
    for (const [path, isTree] of changed) {
      if (hasChangedTreeAbove(path, changed)) continue
      const [parent, name] = splitPath(path)
      const entries: ChangedEntries = folders.get(parent) ?? new Map()
      folders.set(parent, entries.set(name, isTree))
    }
    const waiting = [...folders]
    const work = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        await this.#relinkEntries(namesIn(next[0]), next[1])
      }
    }
    await allOf(Array.from({ length: foldersAtOnce }, work))
    this.#signal.throwIfAborted()
  }

  /** Returns what is in the tree and not in the copy. */
  omitted(): BackupOmission[] {
    return [...this.#omitted].map(([path, why]) => ({ what: `/${path}`, why }))
  }

  async #relinkEntries(parents: readonly string[], entries: ChangedEntries): Promise<void> {
    const pair =
      (await this.#openPair(parents)) ??
      (await this.#repairs.run(async () => {
        await this.#repair(parents)
        return this.#openPair(parents)
      }))
    if (pair === null) return
    try {
      const list = [...entries]
      for (let start = 0; start < list.length; start += entriesAtOnce) {
        const batch = list.slice(start, start + entriesAtOnce)
        this.#allow(batch.length)
        await allOf(batch.map(([name, isTree]) => this.#relink(pair, [...parents, name], isTree)))
      }
    } finally {
      close(pair)
    }
  }

  /** Returns the folder and its copy; null if one of them is missing. */
  async #openPair(names: readonly string[]): Promise<Pair | null> {
    const from = await openFolder(this.#disk, this.#from, names).catch(unlessGone)
    if (from === undefined) return null
    try {
      const to = await openFolder(this.#disk, this.#to, names).catch(unlessGone)
      if (to !== undefined) return { from, to }
    } catch (error) {
      from.close()
      throw error
    }
    from.close()
    return null
  }

  /** Makes the first folder on a way equal that is missing in the tree or in the copy, with all that is in it. */
  async #repair(names: readonly string[]): Promise<void> {
    for (let depth = 1; depth <= names.length; depth += 1) {
      const pair = await this.#openPair(names.slice(0, depth))
      if (pair !== null) {
        close(pair)
        continue
      }
      const above = await this.#openPair(names.slice(0, depth - 1))
      if (above === null) return
      try {
        await this.#relink(above, names.slice(0, depth), false)
      } finally {
        close(above)
      }
    }
  }

  /** @param isTree replaces the copy of a folder; otherwise a folder that is in both stays as it is */
  async #relink({ from, to }: Pair, names: readonly string[], isTree: boolean): Promise<void> {
    const disk = this.#disk
    const name = names.at(-1) ?? ''
    const found = await find(disk, from, name)
    let isThere = false
    for (const stored of storedForms(name)) {
      const path = to.at(stored)
      const copy = disk.lstatSync(path)
      if (copy === undefined) continue
      const isSame =
        stored === found?.stored &&
        (copy.isDirectory()
          ? found.stats.isDirectory() && !isTree
          : copy.ino === found.stats.ino && copy.dev === found.stats.dev)
      if (isSame) isThere = true
      else if (copy.isDirectory()) await this.#setAside(path).catch(unlessMissing)
      else await disk.unlink(path).catch(unlessMissing)
    }
    if (found === null) return
    for (const stored of storedForms(name)) {
      if (isThere && stored === found.stored) continue
      const outcome = await linkEntry(disk, from, to, stored)
      if (outcome === 'directory') await this.#linkFolder({ from, to }, stored, names)
      else if (outcome !== null && outcome !== 'file')
        this.#omit([...names.slice(0, -1), stored], outcome.why)
    }
  }

  async #linkFolder(above: Pair, stored: string, names: readonly string[]): Promise<void> {
    const from = await openChild(this.#disk, above.from, stored).catch(unlessGone)
    if (from === undefined) return
    try {
      const to = await openChild(this.#disk, above.to, stored)
      try {
        await this.#linkTree(from, to, names)
      } catch (error) {
        // A folder that is there counts as whole.
        await this.#setAside(above.to.at(stored))
        throw error
      } finally {
        to.close()
      }
    } finally {
      from.close()
    }
  }

  async #linkTree(from: Folder, to: Folder, names: readonly string[]): Promise<void> {
    const onOmission = (below: readonly string[], why: string) => this.#omit([...names, ...below], why)
    const beforeEntries = (count: number) => this.#allow(count)
    await linkTree(this.#disk, { from, to, isRoot: names.length === 0 }, onOmission, beforeEntries)
  }

  /** @throws the reason of the signal, or `limitReached` */
  #allow(entries: number): void {
    this.#signal.throwIfAborted()
    this.#allowed -= entries
    if (this.#allowed < 0) throw limitReached
  }

  /** @param stored the names on the disk. Only the last one may be one that the node does not show. */
  #omit(stored: readonly string[], why: string): void {
    const above = stored.slice(0, -1).map((name) => name.normalize('NFC'))
    this.#omitted.set([...above, stored.at(-1)].join('/'), why)
  }

  #forgetOmissions(changed: ChangedPaths): void {
    for (const path of this.#omitted.keys()) {
      const [parent, stored] = splitPath(path)
      const name = shownName(stored)
      const isChanged = name !== null && changed.has(joinPath(parent, name))
      if (isChanged || hasChangedTreeAbove(path, changed)) this.#omitted.delete(path)
    }
  }
}

/** A folder, and its copy. Both are open. */
interface Pair {
  readonly from: Folder
  readonly to: Folder
}

function close({ from, to }: Pair): void {
  from.close()
  to.close()
}

/** Whether a folder above a path may have been replaced, and so everything in it. */
function hasChangedTreeAbove(path: string, changed: ChangedPaths): boolean {
  for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
    if (changed.get(path.slice(0, end)) === true) return true
  }
  return false
}

function splitPath(path: string): [parent: string, name: string] {
  const end = path.lastIndexOf('/')
  return end === -1 ? ['', path] : [path.slice(0, end), path.slice(end + 1)]
}

function joinPath(parent: string, name: string): string {
  return parent === '' ? name : `${parent}/${name}`
}

function namesIn(path: string): string[] {
  return path === '' ? [] : path.split('/')
}
