import { isNodekeepError, type Log, type UserDirectory } from '@nodekeep/plugin-sdk'
import { keptFolder } from '../mounts/kept-folder.ts'
import type { Mounts } from '../mounts/mounts.ts'

/** The folders of users, which have the uuid of the user as their name. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Removes what is kept of users whom the directory does not have. A former release, which knows of no trash, may have erased them. */
export async function eraseUnknownUsers(
  mounts: Mounts,
  users: Pick<UserDirectory, 'get'>,
  log: Pick<Log, 'info' | 'debug'>,
): Promise<void> {
  for (const { name, backend } of mounts.backends) {
    try {
      if (backend === null || mounts.isRestoring) continue
      const unknown: string[] = []
      for await (const entry of backend.list(keptFolder)) {
        if (uuid.test(entry.name) && (await users.get(entry.name)) === null) unknown.push(entry.name)
      }
      for (const user of unknown) {
        await backend.remove(`${keptFolder}/${user}`)
        log.info({ user, backend: name }, 'The trash of a user was deleted who is not there any more.')
      }
    } catch (error) {
      // Nothing was ever kept there, or the storage does not answer. The next start tries again.
      if (!isNodekeepError(error)) throw error
      log.debug({ err: error, backend: name }, 'The users with a trash cannot be listed now.')
    }
  }
}
