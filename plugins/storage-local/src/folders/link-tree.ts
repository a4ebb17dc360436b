import type { Disk } from '../disk/disk.ts'
import { isDiskError } from '../disk/disk-errors.ts'
import { type Folder, openChild } from './folder.ts'
import { replacementCharacter, shownName, stagingFolderName } from './stored-names.ts'
import { openFolder } from './walk.ts'

/** Entries of a folder that are linked at the same time. */
export const entriesAtOnce = 64

/** Folders that are copied at the same time. */
export const foldersAtOnce = 8

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

/** An open folder of the tree, and its open copy. `isRoot`: it is the root, which contains the staging folder. */
interface LinkedFolders {
  readonly from: Folder
  readonly to: Folder
  readonly isRoot: boolean
}

/**
 * Copies the folders in a folder and links the files in it into the copies. The tree may change meanwhile: what comes, goes or is
 * replaced may be missing in the copy, or be there. The number of open descriptors is bounded for a tree of any form.
 *
 * @param onOmission is told what is left out, by its names below the folder, as they are on the disk, and why
 * @param beforeEntries is told how many entries come next. If it throws, the work ends with what was thrown
 */
export async function linkTree(
  disk: Disk,
  { from, to, isRoot }: LinkedFolders,
  onOmission: (names: readonly string[], why: string) => void,
  beforeEntries: (count: number) => void,
): Promise<void> {
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
        const names =
          isRoot && folder.above === null ? portion.filter((name) => name !== stagingFolderName) : portion
        for (let start = 0; start < names.length; start += entriesAtOnce) {
          const next = names.slice(start, start + entriesAtOnce)
          beforeEntries(next.length)
          await allOf(next.map((name) => link(pair, name, folder)))
        }
      }
    } finally {
      release(pair)
    }
  }

  async function link(pair: OpenPair, name: string, above: WaitingFolder): Promise<void> {
    const outcome = await linkEntry(disk, pair.from, pair.to, name)
    if (outcome !== null && typeof outcome === 'object') onOmission(namesTo(name, above), outcome.why)
    if (outcome !== 'directory') return
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

/** The result for an entry: a link, an empty folder, or nothing, for a reason. Null: it is gone, or its copy is there already. */
type LinkOutcome = 'file' | 'directory' | { readonly why: string } | null

/** Links a file into a copy of its folder, or makes the copy of a folder in it. Leaves out what a reader would not find. */
export async function linkEntry(disk: Disk, from: Folder, to: Folder, stored: string): Promise<LinkOutcome> {
  const shown = shownName(stored)
  if (shown === null) return { why: 'Its name is in neither NFC nor NFD, or is too long in NFC.' }
  try {
    const stats = await disk.lstat(from.at(stored))
    const named = shown === stored ? undefined : disk.lstatSync(from.at(shown))
    if (named !== undefined && named.ino !== stats.ino)
      return { why: 'Another entry has the same name in another Unicode form.' }
    if (stats.isSymbolicLink()) return { why: 'It is a symbolic link.' }
    if (!stats.isFile() && !stats.isDirectory()) return { why: 'It is a special file.' }
    if (stats.isDirectory()) await disk.mkdir(to.at(stored))
    else await disk.link(from.at(stored), to.at(stored))
    return stats.isFile() ? 'file' : 'directory'
  } catch (error) {
    // A folder has taken the place of the file meanwhile.
    if (isDiskError(error, 'EPERM') && disk.lstatSync(from.at(stored))?.isDirectory())
      return linkEntry(disk, from, to, stored)
    if (isDiskError(error, 'ENOENT') && stored.includes(replacementCharacter))
      return { why: 'Its name is not valid UTF-8.' }
    // A folder that changes while its names are read may yield a name twice.
    if (!isDiskError(error, 'EEXIST')) unlessGone(error)
    return null
  }
}

/** As `Promise.all`, but waits for all work even if some of it fails: the rest may still use the open folders. */
export async function allOf(work: readonly Promise<void>[]): Promise<void> {
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

/** For `catch`: ignores that something is gone, or is no folder any more. */
export function unlessGone(error: unknown): void {
  if (!isDiskError(error, 'ENOENT', 'ENOTDIR')) throw error
}
