import { isNodekeepError } from '@nodekeep/plugin-sdk'
import { originOf } from './change-origin.ts'
import type { KeptFilesService, UserKeptFiles } from './kept/kept-files.ts'
import { deleteItem, emptyTrash, listTrash, restoreItem } from './kept/trash.ts'
import { deleteVersion, listVersions, readVersion, restoreVersion, statVersion } from './kept/versions.ts'
import { keepsDeleted, keepsOverwritten } from './operations/keeping.ts'
import type { Scope, ScopeOf } from './operations/scope.ts'
import { userPath } from './paths/user-path.ts'

/**
 * Gives each user access to what is kept of their files.
 *
 * @param trashDays days for which deleted files stay in the trash
 */
export function createKeptFiles(scopeOf: ScopeOf, trashDays: number): KeptFilesService {
  return { trashDays, for: ({ uuid }, origin = {}) => userKeptFiles(scopeOf(uuid, originOf(origin))) }
}

function userKeptFiles(scope: Scope): UserKeptFiles {
  return {
    keeps(path) {
      try {
        const { backend } = scope.locate(userPath(path))
        const { keeping } = scope
        return { trash: keepsDeleted(keeping, backend), versions: keepsOverwritten(keeping, backend) }
      } catch (error) {
        // Nothing can be changed on a storage that is not there.
        if (isNodekeepError(error) && error.code === 'SERVICE_UNAVAILABLE')
          return { trash: false, versions: false }
        throw error
      }
    },
    trash: async (options) => listTrash(scope, options),
    restore: async (id, destination) =>
      restoreItem(
        scope,
        id,
        destination === undefined ? undefined : userPath(destination, 'The destination'),
      ),
    deleteItem: async (id) => deleteItem(scope, id),
    emptyTrash: async () => emptyTrash(scope),
    versions: async (path, options) => listVersions(scope, userPath(path), options),
    statVersion: async (path, id) => statVersion(scope, userPath(path), id),
    readVersion: async (path, id, options) => readVersion(scope, userPath(path), id, options),
    restoreVersion: async (path, id) => restoreVersion(scope, userPath(path), id),
    deleteVersion: async (path, id) => deleteVersion(scope, userPath(path), id),
  }
}
