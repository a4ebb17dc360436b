import { isNodekeepError, type Log, type UserDirectory } from '@nodekeep/plugin-sdk'
import type { Journal } from '../journal/journal.ts'
import { keptFolder } from '../mounts/kept-folder.ts'
import { entryIn, type Mounts } from '../mounts/mounts.ts'

/** The folders of users, which have the uuid of the user as their name. */
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * Removes what is kept of users whom a former release has erased, which knows of no trash: the directory does not have them, and their
 * files are gone. A directory that was lost, or put back to an older state, takes nobody's trash.
 */
export async function eraseUnknownUsers(
  mounts: Mounts,
  journal: Pick<Journal, 'keptOf'>,
  users: Pick<UserDirectory, 'get'>,
  log: Pick<Log, 'info' | 'debug'>,
): Promise<void> {
  const reader = await journal.keptOf('')
  const used = new Set(reader.users().flatMap((user) => reader.sums(user).map(({ storage }) => storage)))
  for (const { name, backend } of mounts.backends) {
    try {
      if (backend === null || mounts.isRestoring) continue
      // Nobody asks a server for the files of a node that keeps nothing there.
      if (backend.plainFolder === undefined && !used.has(name)) continue
      const unknown: string[] = []
      for await (const entry of backend.list(keptFolder)) {
        const user = entry.name
        if (!uuid.test(user) || (await users.get(user)) !== null) continue
        if ((await entryIn({ backend, backendPath: `/${user}` })) === null) unknown.push(user)
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
