import {
  FairSlots,
  type FileChangeOptions,
  type FilesService,
  NodekeepError,
  type UserFiles,
} from '@nodekeep/plugin-sdk'
import type { ChangeRecorder } from './changes/change-recorder.ts'
import { byOtherPrograms } from './journal/change.ts'
import type { Journal } from './journal/journal.ts'
import type { Mounts } from './mounts/mounts.ts'
import { copy } from './operations/copying.ts'
import type { CrossMountMoves } from './operations/cross-mount-moves.ts'
import { list } from './operations/listing.ts'
import { makeDirectory } from './operations/make-directory.ts'
import { move } from './operations/moving.ts'
import { read, stat } from './operations/reading.ts'
import { remove } from './operations/removal.ts'
import type { Scope } from './operations/scope.ts'
import { write } from './operations/writing.ts'
import type { PathLocks } from './paths/path-locks.ts'
import { userPath } from './paths/user-path.ts'

/** Characters in the name of a device. */
const longestDeviceName = 100

interface FilesServices {
  readonly mounts: Mounts
  readonly journal: Journal
  readonly recorder: ChangeRecorder
  readonly crossMountMoves: CrossMountMoves
  readonly locks: PathLocks
  /** Bytes. */
  readonly maxFileSize: number
}

/**
 * Files of one user that are copied at a time: a short request can copy any number of bytes, so without a bound one user could take
 * the whole node. Within a folder, they share the syncs of the folder and of the journal.
 */
const copiesPerUser = 8

/** Gives each user access to their files. Paths are checked and normalized here, and nowhere below. */
export function createFilesService(services: FilesServices): FilesService {
  const { locks } = services
  const copySlots = new FairSlots({ mostPerKey: copiesPerUser })
  const since = new Date()
  return {
    maxFileSize: services.maxFileSize,
    for: ({ uuid }) =>
      userFiles({
        ...services,
        since,
        copySlots,
        userUuid: uuid,
        locate: (path) => services.mounts.locate(uuid, path),
        lock: (paths, signal) => locks.acquire(uuid, paths, signal),
        tryLock: (paths) => locks.tryAcquire(uuid, paths),
      }),
  }
}

function userFiles(scope: Scope): UserFiles {
  return {
    stat: async (path) => stat(scope, userPath(path)),
    async *list(path, options) {
      yield* list(scope, userPath(path), options)
    },
    read: async (path, options) => read(scope, userPath(path), options),
    write: async (path, content, options) => write(scope, userPath(path), content, checkDeviceName(options)),
    makeDirectory: async (path, options) => makeDirectory(scope, userPath(path), checkDeviceName(options)),
    remove: async (path, options) => remove(scope, userPath(path), checkDeviceName(options)),
    move: async (source, destination, options) =>
      move(
        scope,
        userPath(source, 'The source'),
        userPath(destination, 'The destination'),
        checkDeviceName(options),
      ),
    copy: async (source, destination, options) =>
      copy(
        scope,
        userPath(source, 'The source'),
        userPath(destination, 'The destination'),
        checkDeviceName(options),
      ),
  }
}

/**
 * @throws NodekeepError VALIDATION_ERROR when the name of the device is empty, too long, not a string, or the one that stands for
 *   other programs
 */
function checkDeviceName<T extends FileChangeOptions>(options: T | undefined): T | undefined {
  const by = options?.by
  if (by !== undefined && (typeof by !== 'string' || by === '' || by.length > longestDeviceName)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      `The name of the device must be text of 1 to ${longestDeviceName} characters.`,
    )
  }
  if (by === byOtherPrograms) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      `"${byOtherPrograms}" stands for the changes of other programs. Give the device another name.`,
    )
  }
  return options
}
