import { join } from 'node:path'
import {
  Changes,
  definePlugin,
  FileChanged,
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
import { BackgroundIndex } from './server/content/background-index.ts'
import { openContentDatabase } from './server/content/content-database.ts'
import { ContentHasher } from './server/content/content-hasher.ts'
import { ContentIndex } from './server/content/content-index.ts'
import { contentRoutes } from './server/content/content-routes.ts'
import { Contents } from './server/content/contents.ts'
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
const lostContent = 'All files are hashed again, and clients repeat unfinished uploads.'

/** The plugin `file-sync`: every device of a user has the same files. */
export default definePlugin({
  id: 'file-sync',
  description: 'Keeps the files of all devices of a user the same.',
  config: configuration,
  requires: { files: Files, changes: Changes, address: NodeAddress },
  contributes: { userData: UserData },
  setup({ config, files, changes, address, userData, events, log, routes, dataDir, sqliteFile, ...context }) {
    const { onServing, onStop, signal } = context
    const devices = new Devices(sqliteFile('devices', { newIfDamaged: lostDevices }), config.devicesPerUser)
    onStop(() => devices.close())
    // Clients send again what is in it, and the files of a restored storage have other revisions.
    const database = openContentDatabase(
      sqliteFile('content', { inBackups: false, newIfDamaged: lostContent }),
    )
    onStop(() => database.close())
    const index = new ContentIndex(database)
    const hasher = new ContentHasher()
    onStop(() => hasher.close())
    const contents = new Contents(files, index, hasher)
    const uploads = new Uploads(database)
    const staged = new StagedBlocks(join(dataDir, 'not-in-backups', 'blocks'), config.stagedBytesPerUser)
    const sources = new BlockSources(files, index, staged)
    const connections = new SyncConnections(config.connectionsPerUser)
    onStop(() => connections.stop())
    const retained = new RetainedChanges(changes, devices, log, signal)
    const background = new BackgroundIndex({
      changes,
      files,
      index,
      contents,
      isWanted: (userUuid) => devices.areThere(userUuid),
      bytesPerSecond: config.hashedBytesPerSecond,
      signal,
      log,
    })
    onStop(() => background.stop())
    events.on(FileChanged, ({ userUuid }) => {
      connections.notice(userUuid)
      background.notice(userUuid)
    })
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
    }

    onServing(() => {
      tidy()
      for (const userUuid of devices.users()) background.notice(userUuid)
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
        await index.erase(userUuid)
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
            onDevice({ id }) {
              connections.replaceOthers(user.uuid, connection, id)
              background.notice(user.uuid)
            },
            onStored: (userUuid) => retained.mark(userUuid),
            log: request.log.child({ ip: request.ip, user: user.username, userUuid: user.uuid }),
            requestId: request.id,
          })
          connections.run(user.uuid, connection)
        })
        clientFileRoutes(app, address)
        contentRoutes(app, contents)
        uploadRoutes(app, { files, index, contents, uploads, staged, sources })
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
