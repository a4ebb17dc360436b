import type { FairSlots, FileChangeOptions } from '@nodekeep/plugin-sdk'
import type { ChangeRecorder } from '../changes/change-recorder.ts'
import type { Journal } from '../journal/journal.ts'
import type { Location, Mounts } from '../mounts/mounts.ts'
import type { Release } from '../paths/path-locks.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { Rooms } from '../quota/rooms.ts'
import type { CrossMountMoves } from './cross-mount-moves.ts'

/** The parts that every operation on the files of one user works with. */
export interface Scope {
  readonly userUuid: string
  /** The origin of the changes that the operation makes. */
  readonly origin: FileChangeOptions
  readonly mounts: Mounts
  readonly journal: Journal
  readonly recorder: ChangeRecorder
  /** The copies of single files that run at a time, by user. */
  readonly copySlots: FairSlots
  readonly crossMountMoves: CrossMountMoves
  readonly rooms: Rooms
  /** Bytes. */
  readonly maxFileSize: number
  /** When the feature started: the times of folders that exist only because of a mount. */
  readonly since: Date
  /** The backend that stores a path. */
  locate(path: UserPath): Location
  /** Locks paths and everything below them against changes. */
  lock(paths: readonly UserPath[], signal?: AbortSignal): Promise<Release>
  /** Locks without waiting. Returns null when another change is in the way. */
  tryLock(paths: readonly UserPath[]): Release | null
}
