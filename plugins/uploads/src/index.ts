import { join } from 'node:path'
import { definePlugin, Files, UserData } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { uploadRoutes } from './routes.ts'
import { StagedFiles } from './staged-files.ts'
import { Turns } from './turns.ts'
import { noSuchUpload, openUploadDatabase, Uploads } from './uploads.ts'

/** Milliseconds between two removals of expired uploads. */
const sweepMs = 60 * 60 * 1000

/** The plugin `uploads`: uploads of files go on after they broke off. */
export default definePlugin({
  id: 'uploads',
  description: 'Large uploads go on where they broke off.',
  config: configuration,
  requires: { files: Files },
  contributes: { userData: UserData },
  setup({ config, files, userData, log, routes, dataDir, sqliteFile, onServing, onStop, signal }) {
    const database = openUploadDatabase(
      sqliteFile('uploads', { inBackups: false, newIfDamaged: 'Clients begin unfinished uploads again.' }),
    )
    onStop(() => database.close())
    const uploads = new Uploads(database, config.uploadsPerUser)
    const staged = new StagedFiles(join(dataDir, 'not-in-backups', 'staged'), files)
    for (const { userUuid, id, received } of uploads.allUnfinished()) staged.hold(userUuid, id, received)
    const turns = new Turns()
    signal.addEventListener('abort', () => turns.stop(signal.reason), { once: true })
    onStop(() => turns.stop(signal.reason))
    const sweep = async () => {
      try {
        uploads.expire((userUuid, id) => turns.isInUse(userUuid, id))
        await staged.sweep((userUuid, id) => signal.aborted || uploads.isUnfinished(userUuid, id))
      } catch (error) {
        if (!signal.aborted) log.warn({ err: error }, 'Expired uploads cannot be removed now.')
      }
    }
    onServing(() => {
      let sweeping = sweep()
      const hourly = setInterval(() => {
        sweeping = sweep()
      }, sweepMs).unref()
      onStop(async () => {
        clearInterval(hourly)
        await sweeping
      })
    })

    userData.add('uploads', {
      async erase(userUuid) {
        uploads.erase(userUuid)
        await turns.stop(noSuchUpload(), userUuid)
        await staged.erase(userUuid)
      },
    })

    const { stagedBytesPerUser } = config
    routes((app) =>
      uploadRoutes(app, { files, uploads, staged, turns, stagedBytesPerUser, receiving: {}, signal }),
    )
  },
})
