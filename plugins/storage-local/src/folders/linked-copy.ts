import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import type { Root } from './root.ts'
import { sideFolder } from './stored-names.ts'
import { openFolder } from './walk.ts'

/** So many entries of a folder are linked together. */
const batch = 64

/** So many folders are gone through at once. */
const workers = 8

/** So many folders stay open for those in them. What is in others is found by its names from the root on. */
const HELD = 256

/** A folder that is still to be gone through. Trees may be deep, so it only knows its own name and what it is in. */
interface Place {
  readonly name: string
  readonly above: Place | null
  /** The folder that it is in, held open for it. */
  readonly parent: Pair | null
}

/** A folder, and the one that gets the links to its files. */
interface Pair {
  readonly from: Folder
  readonly to: Folder
  users: number
}

/**
 * Makes all folders of a tree anew and links its files into them. What is neither file nor folder is left out, and so is
 * what another program removes meanwhile. It takes a bounded number of descriptors, whatever the form of the tree.
 */
export async function linkTree(disk: Disk, from: Root, to: Root, signal: AbortSignal): Promise<void> {
  const waiting: Place[] = [{ name: '', above: null, parent: null }]
  let held = 0

  function release(pair: Pair): void {
    pair.users -= 1
    if (pair.users > 0) return
    pair.from.close()
    pair.to.close()
    held -= 1
  }

  async function open({ name, above, parent }: Place): Promise<Pair> {
    const names = parent === null ? namesTo(name, above) : []
    const source = await (parent ? openChild(disk, parent.from, name) : openFolder(disk, from, names))
    try {
      const copy = await (parent ? openChild(disk, parent.to, name) : openFolder(disk, to, names))
      held += 1
      return { from: source, to: copy, users: 1 }
    } catch (error) {
      source.close()
      throw error
    }
  }

  async function goThrough(place: Place): Promise<void> {
    const pair = await open(place).finally(() => place.parent && release(place.parent))
    try {
      for await (const portion of disk.names(pair.from.at('.'))) {
        const names = place.above === null ? portion.filter((name) => name !== sideFolder) : portion
        for (let start = 0; start < names.length; start += batch) {
          signal.throwIfAborted()
          await allOf(names.slice(start, start + batch).map((name) => link(pair, name, place)))
        }
      }
    } finally {
      release(pair)
    }
  }

  async function link(pair: Pair, name: string, above: Place): Promise<void> {
    try {
      const stats = await disk.lstat(pair.from.at(name))
      if (stats.isFile()) await disk.link(pair.from.at(name), pair.to.at(name))
      if (!stats.isDirectory()) return
      await disk.mkdir(pair.to.at(name))
    } catch (error) {
      return unlessGone(error)
    }
    const stays = held < HELD
    if (stays) pair.users += 1
    waiting.push({ name, above, parent: stays ? pair : null })
  }

  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  while (running.size > 0 || (waiting.length > 0 && failures.length === 0)) {
    // The last ones first: so the open folders are those on the way to where the work is.
    const place = running.size < workers && failures.length === 0 ? waiting.pop() : undefined
    if (place === undefined) await Promise.race(running)
    else {
      const work = goThrough(place)
        .catch(unlessGone)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(work))
      running.add(work)
    }
  }
  for (const { parent } of waiting) if (parent !== null) release(parent)
  if (failures.length > 0) throw failures[0]
}

/** As `Promise.all`, but what has failed waits for the others, which may still take hold of folders. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work))
    if (outcome.status === 'rejected') throw outcome.reason
}

function namesTo(name: string, above: Place | null): string[] {
  const names: string[] = []
  for (let place: Pick<Place, 'name' | 'above'> = { name, above }; place.above !== null; place = place.above)
    names.push(place.name)
  return names.reverse()
}

function unlessGone(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR')) throw error
}
