import { setImmediate } from 'node:timers/promises'
import type { KeptEntry } from '../entries/kept-reader.ts'
import type { RecordedChange } from '../journal/change.ts'
import { definedOnly } from '../operations/defined-only.ts'
import type { UserPath } from '../paths/user-path.ts'
import { itemOf, type LaterChanges } from './later-changes.ts'
import { PathSet } from './path-set.ts'

/** Changes between which others get their turn. */
const changesAtOnce = 16

/** A step that takes back a change, or several. */
export type UndoStep =
  | { readonly kind: 'restore item'; readonly item: KeptEntry; readonly path: UserPath }
  /** The file at the path gets the content of a version. */
  | { readonly kind: 'restore version'; readonly version: KeptEntry; readonly path: UserPath }
  /** So it does, and what it has now becomes a file at another path. */
  | {
      readonly kind: 'split'
      readonly version: KeptEntry
      readonly path: UserPath
      readonly movedTo: UserPath
    }
  | { readonly kind: 'move'; readonly path: UserPath; readonly to: UserPath; readonly overwrite: boolean }
  | { readonly kind: 'make folder'; readonly path: UserPath }
  /** A file needs the revision, if there is one. */
  | { readonly kind: 'remove'; readonly path: UserPath; readonly revision?: string }
  | { readonly kind: 'remove if empty'; readonly path: UserPath }

/** A path, and what must be there before anything is taken back. */
export interface Expected {
  readonly path: UserPath
  /** Null if nothing may be there. Undefined for any file or folder. */
  readonly revision: string | null | undefined
}

export interface UndoPlan {
  readonly steps: readonly UndoStep[]
  readonly expected: readonly Expected[]
  /** Paths of later changes. If there are any, nothing may be taken back. */
  readonly changedSince: ReadonlySet<UserPath>
  /** Paths of which something cannot come back, because it is not kept, or would not be kept if it went. */
  readonly notKept: ReadonlySet<UserPath>
}

interface UndoneChanges {
  /** Newest first. */
  readonly group: readonly RecordedChange[]
  readonly later: LaterChanges
  /** The entries that are kept, by the kept names that the group has given them. */
  readonly kept: ReadonlyMap<string, KeptEntry>
  /** Whether what is removed from a path is kept. */
  readonly isKept: (path: UserPath) => boolean
}

/** Plans how to take back the changes of a group, newest first. */
export async function planUndo({ group, later, kept, isKept }: UndoneChanges): Promise<UndoPlan> {
  const steps: UndoStep[] = []
  const expected: Expected[] = []
  const changedSince = new Set<UserPath>()
  const notKept = new Set<UserPath>()
  const inFolders = await madeInFolders(group)
  /** The changes that made folders which go with what is in them. */
  const filled = new Set<number>()
  const seenItems = new Set<string>()
  /** Kept names of what went back into the file that it was split from. */
  const splitOff = new Set<string>()
  /** The files that got another content, by the kept name of the one before. */
  const written = new Map(
    group.flatMap(({ op, keptAs, path }) => (op === 'write' && keptAs ? [[keptAs, path as UserPath]] : [])),
  )
  const changed = { made: new PathSet(), removed: new PathSet() }
  const presentRevision = revisionsSince(later.undone)
  /** The paths of the changes of the group after this one. */
  const ownLater = new PathSet()
  let next = 0

  const others = later.standing
  const isLast = (path: UserPath) => ownLater.overlapping(path) === undefined
  const expect = (path: UserPath, revision: Expected['revision']): void => {
    if (isLast(path)) expected.push({ path, revision })
  }
  const conflict = (path: UserPath | undefined): void => {
    if (path !== undefined) changedSince.add(path)
  }

  function takeBack(change: RecordedChange): void {
    const path = change.path as UserPath
    if (change.op === 'delete') takeBackDeletion(change, path)
    else if (change.op === 'mkdir') takeBackFolder(change, path)
    else {
      conflict(changed.made.overlapping(path) ?? changed.removed.overlapping(path))
      if (change.op === 'move') takeBackMove(change, path)
      else takeBackWrite(change, path)
    }
  }

  function takeBackFolder({ seq }: RecordedChange, path: UserPath): void {
    conflict(changed.made.atOrAbove(path) ?? changed.removed.atOrAbove(path))
    const outer = inFolders.get(seq)
    if (outer !== undefined) filled.add(outer)
    else if (!filled.has(seq)) steps.push({ kind: 'remove if empty', path })
    else {
      conflict(changed.made.below(path) ?? changed.removed.below(path))
      if (isKept(path)) steps.push({ kind: 'remove', path })
      else notKept.add(path)
    }
  }

  function takeBackWrite(change: RecordedChange, path: UserPath): void {
    const { seq, keptAs, restores, created } = change
    const revision = presentRevision(change)
    if (keptAs !== undefined && splitOff.has(keptAs)) return
    expect(path, revision)
    const splitFrom = restores === undefined ? undefined : written.get(restores)
    const folder = inFolders.get(seq)
    if (keptAs !== undefined) {
      const version = kept.get(keptAs)
      if (version === undefined) notKept.add(path)
      else steps.push({ kind: 'restore version', version, path })
    } else if (restores !== undefined && splitFrom !== undefined) {
      splitOff.add(restores)
      // A copy that failed gave the file its content back itself.
      if (splitFrom !== path) steps.push({ kind: 'move', path, to: splitFrom, overwrite: true })
    } else if (created !== undefined) notKept.add(path)
    else if (folder !== undefined) filled.add(folder)
    else if (isKept(path)) {
      steps.push({ kind: 'remove', path, ...definedOnly({ revision: isLast(path) ? revision : undefined }) })
    } else notKept.add(path)
  }

  function takeBackDeletion({ keptAs, size, revision }: RecordedChange, path: UserPath): void {
    conflict(changed.made.overlapping(path) ?? changed.removed.above(path))
    expect(path, null)
    if (keptAs === undefined) {
      if (size === 0 && revision === undefined) steps.push({ kind: 'make folder', path })
      else notKept.add(path)
      return
    }
    const name = itemOf(keptAs)
    if (seenItems.has(name)) return
    seenItems.add(name)
    const item = kept.get(name)
    const top = path.slice(0, path.length - (keptAs.length - name.length)) as UserPath
    if (item === undefined) notKept.add(top)
    else steps.push({ kind: 'restore item', item, path: top })
  }

  function takeBackMove(change: RecordedChange, path: UserPath): void {
    const { keptAs } = change
    const source = change.source as UserPath
    conflict(changed.made.overlapping(source) ?? changed.removed.above(source))
    expect(source, null)
    expect(path, presentRevision(change))
    const replaced = keptAs === undefined ? undefined : kept.get(keptAs)
    if (keptAs !== undefined && replaced === undefined) notKept.add(path)
    else if (replaced !== undefined && replaced.of !== null)
      steps.push({ kind: 'split', version: replaced, path, movedTo: source })
    else {
      steps.push({ kind: 'move', path, to: source, overwrite: false })
      if (replaced !== undefined) steps.push({ kind: 'restore item', item: replaced, path })
    }
  }

  for (const [index, change] of group.entries()) {
    for (let other = others[next]; other !== undefined && other.seq > change.seq; other = others[next]) {
      if (other.op !== 'delete') changed.made.add(other.path as UserPath)
      else changed.removed.add(other.path as UserPath)
      if (other.source !== undefined) changed.removed.add(other.source as UserPath)
      next += 1
      if (next % changesAtOnce === 0) await setImmediate()
    }
    takeBack(change)
    ownLater.add(change.path as UserPath)
    if (change.source !== undefined) ownLater.add(change.source as UserPath)
    if (index % changesAtOnce === 0) await setImmediate()
  }
  return { steps, expected, changedSince, notKept }
}

/**
 * Tells which revision the file that a change has left at its path has now. A storage that copies gives a file another one when it comes back.
 *
 * @param undone changes that have left everything as it was before them, newest first
 */
function revisionsSince(undone: readonly RecordedChange[]) {
  const newest = new Map<string, RecordedChange>()
  /** Files and folders that went later, and folders that came as a whole. */
  const gone = new PathSet()
  for (const change of undone) {
    const { op, source, revision } = change
    const path = change.path as UserPath
    const isFile = op !== 'delete' && revision !== undefined
    if (isFile && !newest.has(path) && gone.atOrAbove(path) === undefined) newest.set(path, change)
    if (op === 'delete' || (op === 'move' && !isFile)) gone.add(path)
    if (source !== undefined) gone.add(source as UserPath)
  }
  return ({ seq, path, revision }: RecordedChange): string | undefined => {
    const since = newest.get(path)
    return revision !== undefined && since !== undefined && since.seq > seq ? since.revision : revision
  }
}

/**
 * The changes that made something in a folder that the group had made before, with the number of the change that made the outermost such
 * folder. They are taken back with it.
 */
async function madeInFolders(group: readonly RecordedChange[]): Promise<ReadonlyMap<number, number>> {
  const inFolders = new Map<number, number>()
  const made = new Map<string, number>()
  const gone = new Map<string, number>()
  const folders = new PathSet()
  const folderMadeAbove = (path: UserPath): number | null => {
    const above: UserPath[] = []
    for (let at = folders.above(path); at !== undefined; at = folders.above(at)) above.push(at)
    let goneAt = 0
    for (const folder of above.reverse()) {
      goneAt = Math.max(goneAt, gone.get(folder) ?? 0)
      const madeAt = made.get(folder) ?? 0
      if (madeAt > goneAt) return madeAt
    }
    return null
  }
  const note = (seqs: Map<string, number>, path: string, seq: number) => {
    seqs.set(path, seq)
    folders.add(path as UserPath)
  }
  for (const [index, { seq, op, path, source }] of group.toReversed().entries()) {
    if (op === 'delete') note(gone, path, seq)
    if (source !== undefined) note(gone, source, seq)
    if (op === 'write' || op === 'mkdir') {
      const folder = folderMadeAbove(path as UserPath)
      if (folder !== null) inFolders.set(seq, folder)
      else if (op === 'mkdir') note(made, path, seq)
    }
    if (index % changesAtOnce === 0) await setImmediate()
  }
  return inFolders
}
