import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Configuration } from '../configuration/configuration.ts'
import { findPluginFolders } from '../plugins/installed-plugins.ts'
import { openStateDatabase, type StateDatabase } from '../state/database.ts'
import { databaseSchema } from '../state/database-schema.ts'

/**
 * Opens the state of a node. A state without users beside files of users is not theirs: it was lost, and the node would serve, and
 * back up, nothing instead of their files.
 *
 * @throws Error with one line for a person
 */
export async function openState(configuration: Configuration): Promise<StateDatabase> {
  const database = await openStateDatabase(configuration.kernel.data, databaseSchema)
  try {
    const user = await database.use((sql) => sql.get('SELECT 1 FROM users LIMIT 1'))
    if (user === undefined) await refuseForgottenFiles(configuration, database.path)
    return database
  } catch (error) {
    await database.close()
    throw error
  }
}

/** Searches the folders that plugins have outside of their own, such as those of storages, for folders of users. */
async function refuseForgottenFiles(configuration: Configuration, statePath: string): Promise<void> {
  // The start of a plugin tells what is wrong with its configuration.
  const folders = await findPluginFolders(configuration).catch(() => [])
  for (const { path } of folders) {
    for (const name of await namesIn(path)) {
      if (!userUuid.test(name) || (await namesIn(join(path, name))).length === 0) continue
      throw new Error(
        `${statePath} has no users, but ${path} has files of users, such as those of ${name}. Restore the node from a backup: nodekeep backup restore FILE. To begin anew without these files, move the folder ${path} away.`,
      )
    }
  }
}

const userUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The names in a folder; none if it cannot be read, such as a disk that is not mounted. */
async function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch(() => [])
}
