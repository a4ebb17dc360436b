import { setTimeout as delay } from 'node:timers/promises'
import { definePlugin, FileIndex, Files, KeyedLock, Tokens, UserData } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { openDavDatabase } from './dav-database.ts'
import { davRoot } from './dav-paths.ts'
import { DeadProperties } from './dead-properties.ts'
import { errorXml } from './errors.ts'
import { Locks } from './locks/locks.ts'
import { davRoutes, rootRoutes } from './routes.ts'

/** Milliseconds between two looks for entries that are gone. */
const sweepMs = 24 * 60 * 60 * 1000

/** Milliseconds between two entries of a sweep. */
const pauseMs = 5

/** The plugin `webdav`: file managers, phones and backup programs reach the files. */
export default definePlugin({
  id: 'webdav',
  description: 'File managers, phones and backup programs reach the files by WebDAV.',
  config: configuration,
  requires: { files: Files, index: FileIndex, tokens: Tokens },
  contributes: { userData: UserData },
  setup({ config, files, index, tokens, userData, log, routes, sqliteFile, onServing, onStop, signal }) {
    // The ids of the index, to which properties belong, are those of this node only: backups leave it out.
    const database = openDavDatabase(
      sqliteFile('webdav', {
        inBackups: false,
        newIfDamaged: 'The locks of programs end, and the properties that they have set are gone.',
      }),
    )
    onStop(() => database.close())
    const locks = new Locks(database, config.locksPerUser)
    const properties = new DeadProperties(database, {
      bytesPerEntry: config.propertyBytesPerEntry,
      bytesPerUser: config.propertyBytesPerUser,
    })

    const sweep = async () => {
      try {
        for (const { userUuid, entry } of properties.all()) {
          await delay(pauseMs, undefined, { signal })
          properties.see(userUuid, entry, (await index.for({ uuid: userUuid }).entry(entry)) !== null)
        }
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'Properties of deleted files cannot be removed now.')
      }
    }
    onServing(() => {
      let sweeping = sweep()
      const daily = setInterval(() => {
        sweeping = sweep()
      }, sweepMs).unref()
      onStop(async () => {
        clearInterval(daily)
        await sweeping
      })
    })

    userData.add('webdav', {
      async erase(userUuid) {
        locks.erase(userUuid)
        properties.erase(userUuid)
      },
    })

    const { longestLockSeconds } = config
    const making = new KeyedLock()
    routes((app) => davRoutes(app, { files, index, locks, properties, making, longestLockSeconds }, tokens), {
      prefix: davRoot,
      serializeError: errorXml,
    })
    routes((app) => rootRoutes(app, tokens), { serializeError: errorXml })
  },
})
