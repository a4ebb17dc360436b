import type { ChangedPaths } from '../journal/change.ts'
import type { Journal } from '../journal/journal.ts'
import type { RunningChanges } from '../journal/running-changes.ts'

/** The changes of a user that were open at a moment, or that begin until the disposal. */
export interface OpenChanges extends Disposable {
  some(is: (change: ChangedPaths) => boolean): boolean
}

/**
 * Follows the changes of a user whose outcome the index does not have. A change takes its paths and names before it touches the storage, and
 * gives them back when its outcome is on its way to the index: what differs between the two, and is of none of these changes, was changed by another program.
 */
export async function openChanges(
  { running, journal }: { readonly running: RunningChanges; readonly journal: Journal },
  userUuid: string,
): Promise<OpenChanges> {
  const changes: ChangedPaths[] = running.pathsOf(userUuid)
  const end = running.follow(userUuid, (change) => changes.push(change))
  try {
    changes.push(...(await journal.pendingPaths(userUuid)))
  } catch (error) {
    end()
    throw error
  }
  return { some: (is) => changes.some(is), [Symbol.dispose]: end }
}
