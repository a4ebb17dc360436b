import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  Changes,
  definePlugin,
  FileChanged,
  FileIndex,
  Files,
  NodeAddress,
  UserData,
  userOf,
} from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { clientFileRoutes } from './server/client-file.ts'
import { RetainedChanges } from './server/connections/retained-changes.ts'
import { SyncConnection } from './server/connections/sync-connection.ts'
import { SyncConnections } from './server/connections/sync-connections.ts'
import { openContentDatabase } from './server/content/content-database.ts'
import { contentRoutes } from './server/content/content-routes.ts'
import { Contents } from './server/content/contents.ts'
import { eraseFormerHashes, moveFormerHashes } from './server/content/former-hashes.ts'
import { KnownBlocks } from './server/content/known-blocks.ts'
import { deviceRoutes } from './server/devices/device-routes.ts'
import { Devices } from './server/devices/devices.ts'
import { BlockSources } from './server/uploads/block-sources.ts'
import { StagedBlocks } from './server/uploads/staged-blocks.ts'
import { uploadRoutes } from './server/uploads/upload-routes.ts'
import { Uploads } from './server/uploads/uploads.ts'

/** Milliseconds between two checks of all connections. */
const checkMs = 30_000
const dayMs = 24 * 60 * 60 * 1000

const lostDevices =
  'Each device is added again when it connects, and lists all files once. Devices that do not connect any more are gone from the list.'
const lostContent = 'Large files are cut into blocks again, and clients repeat unfinished uploads.'

/** The plugin `file-sync`: every device of a user has the same files. */
export default definePlugin({
  id: 'file-sync',
  description: 'Keeps a folder of your computer the same as your files here.',
  config: configuration,
  requires: { files: Files, changes: Changes, index: FileIndex, address: NodeAddress },
  contributes: { userData: UserData },
  setup({
    config,
    files,
    changes,
    index,
    address,
    userData,
    events,
    log,
    routes,
    dataDir,
    sqliteFile,
    ...context
  }) {
    const { onServing, onStop, signal } = context
    if (config.hashedBytesPerSecond !== undefined)
      log.warn('"file-sync.hashedBytesPerSecond" has no effect any more. Set "storage.hashedBytesPerSecond".')
    const devices = new Devices(sqliteFile('devices', { newIfDamaged: lostDevices }), config.devicesPerUser)
    onStop(() => devices.close())
    // Clients send again what is in it.
    const database = openContentDatabase(
      sqliteFile('content', { inBackups: false, newIfDamaged: lostContent }),
    )
    onStop(() => database.close())
    const blocks = new KnownBlocks(database)
    const contents = new Contents({ files, index, blocks })
    onStop(() => contents.close())
    const uploads = new Uploads(database)
    const staged = new StagedBlocks(
      join(dataDir, 'not-in-backups', 'blocks'),
      config.stagedBytesPerUser,
      files,
    )
    const sources = new BlockSources({ files, index, blocks, staged })
    const connections = new SyncConnections(config.connectionsPerUser)
    onStop(() => connections.stop())
    const retained = new RetainedChanges(changes, devices, log, signal)
    events.on(FileChanged, ({ userUuid }) => connections.notice(userUuid))
    const expireUploads = async () => {
      signal.throwIfAborted()
      uploads.expire()
      for (const userUuid of await staged.users())
        await staged.remove(userUuid, (hashes) => uploads.unnamed(userUuid, hashes))
    }
    const tidy = async () => {
      await retained.sendAll()
      await expireUploads().catch((error) => {
        if (!signal.aborted) log.warn({ err: error }, 'Old uploads cannot be removed now.')
      })
      await contents.sweep(signal).catch((error) => {
        if (!signal.aborted) log.warn({ err: error }, 'Blocks of former contents cannot be removed now.')
      })
    }

    onServing(() => {
      const tidying = tidy()
      const moving = moveFormerHashes(database, index, signal).catch((error) => {
        if (!signal.aborted) log.warn({ err: error }, 'Hashes of a former version are found out again.')
      })
      onStop(async () => {
        await Promise.all([tidying, moving])
      })
      const daily = setInterval(() => {
        for (const id of connections.deviceIds()) devices.see(id)
        tidy()
      }, dayMs).unref()
      const checks = setInterval(() => {
        connections.check()
        retained.send()
      }, checkMs).unref()
      onStop(() => {
        clearInterval(daily)
        clearInterval(checks)
      })
    })

    userData.add('file-sync', {
      async erase(userUuid) {
        connections.closeUser(userUuid)
        devices.erase(userUuid)
        await blocks.erase(userUuid, setImmediate)
        eraseFormerHashes(database, userUuid)
        uploads.erase(userUuid)
        await staged.erase(userUuid)
      },
    })

    routes(
      (app) => {
        app.get('/api/sync', { websocket: true, config: { scope: 'files:read' } }, (socket, request) => {
          const user = userOf(request)
          const connection: SyncConnection = new SyncConnection(socket, user, {
            changes,
            devices,
            onDevice: ({ id }) => connections.replaceOthers(user.uuid, connection, id),
            onStored: (userUuid) => retained.mark(userUuid),
            log: request.log.child({ ip: request.ip, user: user.username, userUuid: user.uuid }),
            requestId: request.id,
          })
          connections.run(user.uuid, connection)
        })
        clientFileRoutes(app, address)
        contentRoutes(app, contents)
        uploadRoutes(app, { files, blocks, contents, uploads, staged, sources })
        deviceRoutes(app, devices, {
          isConnected: (userUuid, id) => connections.isConnected(userUuid, id),
          onRemoved(userUuid, id) {
            connections.closeDevice(userUuid, id)
            retained.mark(userUuid)
          },
        })
      },
      { webSockets: true },
    )
  },
})
