import type { RecordedChange } from '../journal/change.ts'
import type { UserPath } from '../paths/user-path.ts'
import { PathSet } from './path-set.ts'

/** The changes after the first one of a group, each newest first. */
export interface LaterChanges {
  /** Those that still count. */
  readonly standing: readonly RecordedChange[]
  /** Those that an undo has taken back, and those of that undo. Together they have left everything as it was before them. */
  readonly undone: readonly RecordedChange[]
}

/**
 * Tells the changes that still count from those that were taken back. An undo that was taken back itself does not count either, so that what
 * it had taken back stands again.
 *
 * @param group the changes of the group, newest first
 * @param others the changes that are none of the group, newest first, all after its oldest one
 */
export function laterChanges(
  group: readonly RecordedChange[],
  others: readonly RecordedChange[],
): LaterChanges {
  const own = new Set(group.map(({ seq }) => seq))
  const oldest = group.at(-1)?.seq ?? 0
  const standing: RecordedChange[] = []
  const undone: RecordedChange[] = []
  const undoneGroups = new Set<string>()
  /** The newest changes of such groups: a group may get further changes after it was taken back. */
  const lastUndone = new Set<number>()
  for (const change of others) {
    const { seq, group: name = '', undoes } = change
    if (lastUndone.has(seq)) undoneGroups.add(name)
    const isUndone = undoneGroups.has(name)
    // It may have taken back this group, or something before it: then it stands.
    const takesBack = !isUndone && undoes !== undefined && undoes > oldest && !own.has(undoes)
    if (takesBack) {
      undoneGroups.add(name)
      lastUndone.add(undoes)
    }
    if (isUndone || takesBack) undone.push(change)
    else standing.push(change)
  }
  return { standing, undone }
}

/**
 * The names under which something is kept now, by the name under which it was kept before changes that left everything as it was: one of
 * them may have put it back, and a later one has kept it again.
 *
 * @param undone newest first
 */
export function presentNames(undone: readonly RecordedChange[]): ReadonlyMap<string, string> {
  const present = new Map<string, string>()
  /** The former kept names of what was put back and is still at its path. */
  const putBack = new Map<UserPath, string>()
  const places = new PathSet()
  const put = (path: UserPath, name: string) => {
    putBack.set(path, name)
    places.add(path)
  }
  for (const { op, revision, keptAs, restores, ...change } of undone.toReversed()) {
    const path = change.path as UserPath
    const source = change.source as UserPath | undefined
    const former = putBack.get(path)
    if (keptAs !== undefined && former !== undefined) present.set(former, itemOf(keptAs))
    const isFile = revision !== undefined
    /** Takes out what was put back at a path, or below a folder. */
    const takeOut = (from: UserPath) => {
      const paths = isFile ? [from] : places.within(from)
      return paths.map((one) => {
        const name = putBack.get(one)
        putBack.delete(one)
        places.delete(one)
        return { below: one.slice(from.length), name }
      })
    }
    if (op !== 'mkdir') takeOut(path)
    const moved = source === undefined ? [] : takeOut(source)
    for (const { below, name } of moved) if (name !== undefined) put(`${path}${below}` as UserPath, name)
    if (restores !== undefined) put(path, itemOf(restores))
  }
  return present
}

/** The kept name of an item, of the name of something in it. */
export function itemOf(name: string): string {
  return name.split('/')[0] ?? ''
}
