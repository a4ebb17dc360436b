import {
  NodekeepError,
  type StorageEntry,
  type StorageMoveOptions,
  type StorageStaged,
} from '@nodekeep/plugin-sdk'
import type { BegunChange } from '../changes/change-recorder.ts'
import type { ChangeIntent } from '../journal/change.ts'
import type { Location } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'
import { definedOnly } from './defined-only.ts'
import { forChange } from './path-errors.ts'
import type { Scope } from './scope.ts'

/** A file, or a folder where that moves in one step, that goes from a kept place to a path. */
interface PutBack {
  readonly from: Location
  /** The entry at the kept place. */
  readonly stored: StorageEntry
  readonly path: UserPath
  /** The change to record. The revision is added. */
  readonly intent: Omit<ChangeIntent, 'userUuid' | 'path' | 'revision'>
}

/**
 * Puts something kept at a path, and records it. The caller holds the locks. A storage that moves no files copies the file, which then has
 * a new revision.
 */
export async function putBack(
  scope: Scope,
  { from, stored, path, intent }: PutBack,
  options: StorageMoveOptions,
): Promise<void> {
  const { recorder, userUuid, origin } = scope
  const { backend } = from
  const { backendPath } = scope.locate(path)
  const change: ChangeIntent = { userUuid, path, ...intent, ...origin }
  const { revision } = stored
  if (backend.move !== undefined) {
    const { move } = backend
    const recorded = stored.type === 'file' ? { ...change, revision } : change
    const step = () => move.call(backend, from.backendPath, backendPath, options)
    return forChange(path, () => recorder.record(recorded, step))
  }
  if (backend.copy === undefined) throw new NodekeepError('CONFLICT', 'The storage moves no files now.')
  const { copy } = backend
  const { overwrite, keepReplacedAt, known } = options
  let begun: BegunChange | undefined
  const beforeCommit = async ({ revision }: StorageStaged) => {
    begun = await recorder.begin({ ...change, revision })
  }
  const { modified } = stored
  const copied = { ifAbsent: overwrite !== true, ifSourceRevision: revision, modified, beforeCommit }
  try {
    await forChange(path, async () => {
      const kept = definedOnly({ keepReplacedAt, known })
      await copy.call(backend, from.backendPath, backendPath, { ...copied, ...kept })
      await backend.remove(from.backendPath)
    })
  } catch (error) {
    await begun?.resolveByStorage(error)
    throw error
  }
  await begun?.commit()
}
