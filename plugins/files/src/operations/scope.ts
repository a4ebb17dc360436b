import { FairSlots, type FileChangeOptions } from '@nodekeep/plugin-sdk'
import type { ChangeRecorder } from '../changes/change-recorder.ts'
import type { Journal } from '../journal/journal.ts'
import type { Location, Mounts } from '../mounts/mounts.ts'
import type { PathLocks, Release } from '../paths/path-locks.ts'
import type { UserPath } from '../paths/user-path.ts'
import type { Rooms } from '../quota/rooms.ts'
import type { CrossMountMoves } from './cross-mount-moves.ts'

/** The kinds of files that are kept where their storage can. */
export interface KeepingOptions {
  /** Whether deleted files and folders are. */
  readonly trash: boolean
  /** Whether the former contents of files are. */
  readonly versions: boolean
}

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
  readonly keeping: KeepingOptions
  readonly rooms: Rooms
  /** Bytes. */
  readonly maxFileSize: number
  /** When the feature started: the times of folders that exist only because of a mount. */
  readonly since: Date
  /** The backend that stores a path. */
  locate(path: UserPath): Location
  /**
   * Locks paths and everything below them against changes, and finds out the outcome of changes before.
   *
   * @throws NodekeepError SERVICE_UNAVAILABLE if an outcome cannot be found out now; the reason of the signal
   */
  lock(paths: readonly UserPath[], signal?: AbortSignal): Promise<Release>
  /** Locks without waiting. Returns null when another change is in the way. The outcome of a change before may be open. */
  tryLock(paths: readonly UserPath[]): Release | null
}

/** The parts that the operations on the files of all users work with. */
interface ScopeServices
  extends Pick<
    Scope,
    'mounts' | 'journal' | 'recorder' | 'crossMountMoves' | 'keeping' | 'rooms' | 'maxFileSize'
  > {
  readonly locks: PathLocks
}

/** Gives the scope of a user. */
export type ScopeOf = (userUuid: string, origin: FileChangeOptions) => Scope

/**
 * Files of one user that are copied at a time: a short request can copy any number of bytes, so without a bound one user could take
 * the whole node. Within a folder, they share the syncs of the folder and of the journal.
 */
const copiesPerUser = 8

export function createScopes({ locks, ...services }: ScopeServices): ScopeOf {
  const copySlots = new FairSlots({ mostPerKey: copiesPerUser })
  const since = new Date()
  return (userUuid, origin) => ({
    ...services,
    since,
    copySlots,
    userUuid,
    origin,
    locate: (path) => services.mounts.locate(userUuid, path),
    async lock(paths, signal) {
      const release = await locks.acquire(userUuid, paths, signal)
      try {
        await services.recorder.settle(userUuid, paths)
        return release
      } catch (error) {
        release()
        throw error
      }
    },
    tryLock: (paths) => locks.tryAcquire(userUuid, paths),
  })
}
