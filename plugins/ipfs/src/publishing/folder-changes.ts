import { type ChangeLog, type ChangePosition, isNodekeepError } from '@nodekeep/plugin-sdk'

/** Changes that are read at once. */
const pageSize = 1000

/**
 * Looks whether a folder of a user has changed after a position of the journal: a folder has no revision, and a walk takes as long as it
 * has entries.
 *
 * @returns the position up to which this is known; `null` if the journal does not tell
 */
export async function changeIn(
  changes: ChangeLog,
  userUuid: string,
  folder: string,
  after: ChangePosition,
): Promise<{ readonly isChanged: boolean; readonly position: ChangePosition } | null> {
  let position = after
  try {
    for (;;) {
      const page = await changes.read(userUuid, position, pageSize)
      const last = page.at(-1)
      if (last === undefined) return { isChanged: false, position }
      position = { epoch: position.epoch, seq: last.seq, id: last.id }
      const isChanged = page.some(
        ({ op, path, source }) =>
          isWithin(path, folder) ||
          (source !== undefined && isWithin(source, folder)) ||
          // A folder above it that went or came took it along.
          (op === 'move' && isWithin(folder, path)) ||
          (op === 'delete' && isWithin(folder, path)),
      )
      if (isChanged) return { isChanged, position }
    }
  } catch (error) {
    if (isNodekeepError(error) && error.code === 'CONFLICT') return null
    throw error
  }
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)
}
