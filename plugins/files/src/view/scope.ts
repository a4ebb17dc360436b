import type { ChangeRecorder } from '../changes/change-recorder.ts'
import type { Journal } from '../journal/journal.ts'
import type { Release } from '../locks/path-locks.ts'
import type { Mounts, Place } from '../mounts/mounts.ts'
import type { UserPath } from '../paths/user-path.ts'

/** What every operation on the files of one user works with. */
export interface Scope {
  readonly userUuid: string
  readonly mounts: Mounts
  readonly journal: Journal
  readonly recorder: ChangeRecorder
  /** Bytes. */
  readonly maxFileSize: number
  /** When the mounts came: the times of folders that only lead to a mount. */
  readonly since: Date
  /** Where a path is kept. */
  place(path: UserPath): Place
  /** The mount that a path belongs to. */
  mountOf(path: UserPath): UserPath
  /** Keeps others from changing what is at the paths and below them. */
  lock(paths: readonly UserPath[], signal?: AbortSignal): Promise<Release>
  /** The same without a wait: null when somebody else is there. */
  tryLock(paths: readonly UserPath[]): Release | null
}
