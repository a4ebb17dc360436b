import type { FileChangeOptions, FilesService, UserFiles } from '@nodekeep/plugin-sdk'
import { originOf } from './change-origin.ts'
import { removeWithVersions } from './kept/versions-of-gone.ts'
import { copy } from './operations/copying.ts'
import { list } from './operations/listing.ts'
import { makeDirectory } from './operations/make-directory.ts'
import { move } from './operations/moving.ts'
import { read, stat } from './operations/reading.ts'
import type { Scope, ScopeOf } from './operations/scope.ts'
import { write } from './operations/writing.ts'
import { userPath } from './paths/user-path.ts'
import type { Rooms } from './quota/rooms.ts'

/** Gives each user access to their files. Paths are checked and normalized here, and nowhere below. */
export function createFilesService(scopeOf: ScopeOf, rooms: Rooms, maxFileSize: number): FilesService {
  return {
    maxFileSize,
    holdRoom: ({ uuid }, bytes = 0) => rooms.hold(uuid, null, bytes),
    roomAt: async ({ uuid }, folder) =>
      rooms.leftAt(uuid, scopeOf(uuid, {}).mounts.pointOf(userPath(folder))),
    for: ({ uuid }, origin = {}) => userFiles(scopeOf(uuid, originOf(origin))),
  }
}

function userFiles(scope: Scope): UserFiles {
  /** The scope of a change that may name its own origin. */
  const withOrigin = (options?: FileChangeOptions): Scope =>
    options === undefined ? scope : { ...scope, origin: { ...scope.origin, ...originOf(options) } }
  return {
    stat: async (path) => stat(scope, userPath(path)),
    async *list(path, options) {
      yield* list(scope, userPath(path), options)
    },
    read: async (path, options) => read(scope, userPath(path), options),
    write: async (path, content, options) => write(withOrigin(options), userPath(path), content, options),
    makeDirectory: async (path, options) => makeDirectory(withOrigin(options), userPath(path)),
    remove: async (path, options) => removeWithVersions(withOrigin(options), userPath(path), options),
    move: async (source, destination, options) =>
      move(
        withOrigin(options),
        userPath(source, 'The source'),
        userPath(destination, 'The destination'),
        options,
      ),
    copy: async (source, destination, options) =>
      copy(
        withOrigin(options),
        userPath(source, 'The source'),
        userPath(destination, 'The destination'),
        options,
      ),
  }
}
