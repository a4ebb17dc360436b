import type { FilesService, UserFiles } from '@nodekeep/plugin-sdk'
import type { ChangeRecorder } from './changes/change-recorder.ts'
import type { Journal } from './journal/journal.ts'
import { UserLocks } from './locks/user-locks.ts'
import type { Mounts } from './mounts/mounts.ts'
import { userPath } from './paths/user-path.ts'
import { checkDeviceName } from './view/device-name.ts'
import { stat } from './view/entries.ts'
import { makeDirectory } from './view/folders.ts'
import { list } from './view/listing.ts'
import { move } from './view/moving.ts'
import { read } from './view/reading.ts'
import { remove } from './view/removal.ts'
import type { Scope } from './view/scope.ts'
import { write } from './view/writing.ts'

export interface FilesServiceParts {
  readonly mounts: Mounts
  readonly journal: Journal
  readonly recorder: ChangeRecorder
  /** Bytes. */
  readonly maxFileSize: number
}

/** Gives each user a view of their files. Paths are checked and normalized here and nowhere below. */
export function createFilesService(parts: FilesServiceParts): FilesService {
  const locks = new UserLocks()
  const since = new Date()
  return {
    for({ uuid }) {
      const { mounts } = parts
      return userFiles({
        ...parts,
        since,
        userUuid: uuid,
        place: (path) => mounts.place(uuid, path),
        mountOf: (path) => mounts.pointOf(path),
        lock: (paths, signal) => locks.acquire(uuid, paths, signal),
        tryLock: (paths) => locks.tryAcquire(uuid, paths),
      })
    },
  }
}

function userFiles(scope: Scope): UserFiles {
  return {
    stat: async (path) => stat(scope, userPath(path)),
    async *list(path) {
      yield* list(scope, userPath(path))
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
  }
}
