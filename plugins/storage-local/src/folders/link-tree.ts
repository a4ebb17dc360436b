import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import { stagingFolderName } from './stored-names.ts'
import { openFolder } from './walk.ts'

/** Entries of a folder that are linked at the same time. */
const entriesAtOnce = 64

/** Folders that are copied at the same time. */
const foldersAtOnce = 8

/** Folders that stay open until the folders in them are copied. Beyond these, a folder is opened from the root again. */
const maxOpenParents = 256

/** A folder that waits to be copied. In a deep tree full paths would be long, so it has only its name and its parent. */
interface WaitingFolder {
  readonly name: string
  readonly above: WaitingFolder | null
  /** The parent, if it stays open. */
  readonly parent: OpenPair | null
}

/** An open folder, and its copy. */
interface OpenPair {
  readonly from: Folder
  readonly to: Folder
  users: number
}

/**
 * Copies the folders of a tree and links its files into the copies. It leaves out everything that is neither a file nor
 * a folder, and everything that another program removes meanwhile. The number of open descriptors is bounded for a tree
 * of any form.
 */
export async function linkTree(disk: Disk, from: Folder, to: Folder, signal: AbortSignal): Promise<void> {
  const waiting: WaitingFolder[] = [{ name: '', above: null, parent: null }]
  let openPairs = 0

  function release(pair: OpenPair): void {
    pair.users -= 1
    if (pair.users > 0) return
    pair.from.close()
    pair.to.close()
    openPairs -= 1
  }

  async function open({ name, above, parent }: WaitingFolder): Promise<OpenPair> {
    const names = parent === null ? namesTo(name, above) : []
    const source = await (parent ? openChild(disk, parent.from, name) : openFolder(disk, from, names))
    try {
      const copy = await (parent ? openChild(disk, parent.to, name) : openFolder(disk, to, names))
      openPairs += 1
      return { from: source, to: copy, users: 1 }
    } catch (error) {
      source.close()
      throw error
    }
  }

  async function copyFolder(folder: WaitingFolder): Promise<void> {
    const pair = await open(folder).finally(() => folder.parent && release(folder.parent))
    try {
      for await (const portion of disk.names(pair.from.at('.'))) {
        const names = folder.above === null ? portion.filter((name) => name !== stagingFolderName) : portion
        for (let start = 0; start < names.length; start += entriesAtOnce) {
          signal.throwIfAborted()
          await allOf(names.slice(start, start + entriesAtOnce).map((name) => link(pair, name, folder)))
        }
      }
    } finally {
      release(pair)
    }
  }

  async function link(pair: OpenPair, name: string, above: WaitingFolder): Promise<void> {
    try {
      const stats = await disk.lstat(pair.from.at(name))
      if (stats.isFile()) await disk.link(pair.from.at(name), pair.to.at(name))
      if (!stats.isDirectory()) return
      await disk.mkdir(pair.to.at(name))
    } catch (error) {
      return unlessGone(error)
    }
    const staysOpen = openPairs < maxOpenParents
    if (staysOpen) pair.users += 1
    waiting.push({ name, above, parent: staysOpen ? pair : null })
  }

  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  while (running.size > 0 || (waiting.length > 0 && failures.length === 0)) {
    // Depth first, so that the open parents are those above the folders that are copied now.
    const next = running.size < foldersAtOnce && failures.length === 0 ? waiting.pop() : undefined
    if (next === undefined) await Promise.race(running)
    else {
      const work = copyFolder(next)
        .catch(unlessGone)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(work))
      running.add(work)
    }
  }
  for (const { parent } of waiting) if (parent !== null) release(parent)
  if (failures.length > 0) throw failures[0]
}

/** As `Promise.all`, but waits for all work even if some of it fails: the rest may still use the open folders. */
async function allOf(work: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work))
    if (outcome.status === 'rejected') throw outcome.reason
}

function namesTo(name: string, above: WaitingFolder | null): string[] {
  const names: string[] = []
  for (
    let folder: Pick<WaitingFolder, 'name' | 'above'> = { name, above };
    folder.above !== null;
    folder = folder.above
  )
    names.push(folder.name)
  return names.reverse()
}

function unlessGone(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR')) throw error
}
