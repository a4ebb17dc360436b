import { join } from 'node:path'
import {
  Changes,
  definePlugin,
  FileHeaders,
  Files,
  HealthChecks,
  NodeAddress,
  NodeInfo,
  StorageBackends,
  UserData,
  UserDirectory,
} from '@nodekeep/plugin-sdk'
import { importRoute, removeOldSpools } from './car-import/import-route.ts'
import { configuration } from './configuration.ts'
import { gatewayRoutes } from './gateway/gateway-routes.ts'
import { ipfsHealth } from './health.ts'
import { cidHeaders } from './publishing/cid-headers.ts'
import { Publications } from './publishing/publications.ts'
import { Publisher } from './publishing/publisher.ts'
import { publishingRoutes } from './publishing/publishing-routes.ts'
import { LazyStore } from './store/lazy-store.ts'
import { createIpfsBackend } from './tree/ipfs-driver.ts'
import { giveRecoveredFiles } from './tree/recovered-files.ts'
import { Verification, verificationRoutes } from './verification.ts'

/**
 * Publishes files under addresses that prove their content, and contributes the storage backend `ipfs`. Under another id, the backend has that id
 * as its name.
 */
export default definePlugin({
  id: 'ipfs',
  description: 'Publishes files for everybody, at addresses that prove what is in them.',
  config: configuration,
  requires: { address: NodeAddress, info: NodeInfo, users: UserDirectory },
  optional: { files: Files, changes: Changes },
  contributes: {
    backends: StorageBackends,
    fileHeaders: FileHeaders,
    health: HealthChecks,
    userData: UserData,
  },
  setup({
    id,
    config,
    address,
    info,
    users,
    files,
    changes,
    dataDir,
    sqliteFile,
    state,
    log,
    signal,
    ...context
  }) {
    const { routes, backends, fileHeaders, health, userData, onStart, onServing, onStop } = context
    const packs = join(dataDir, 'not-in-backups', 'packs')
    const store = new LazyStore(packs, () => sqliteFile('index', { inBackups: false }), log)
    onStop(() => store.close())
    const backend = createIpfsBackend(store, packs)
    backends.add(id, backend)
    onStop(() => backend.close())
    const verification = new Verification({ store, state, log, signal })
    onStop(() => verification.close())
    routes((app) => verificationRoutes(app, verification), { prefix: '/api/ipfs' })
    health.add(id, ipfsHealth(store, verification, `${info.command} ${id}`))

    const publications = new Publications(dataDir, sqliteFile)
    onStop(() => publications.close())
    const limits = config.publishing
    const publisher = new Publisher({ publications, store, files, changes, limits, log, signal })
    onStop(() => publisher.close())
    onServing(() => publisher.reconcile())
    userData.add(id, { erase: (userUuid, signal) => publisher.erase(userUuid, signal) })
    fileHeaders.add(id, cidHeaders(publications, store))
    routes((app) => publishingRoutes(app, publisher, address), { prefix: '/api/ipfs' })
    routes((app) => gatewayRoutes(app, store, publications))

    const spoolFolder = join(dataDir, 'not-in-backups', 'imports')
    onStart(() => removeOldSpools(spoolFolder))
    const maxBytes = config.maxImportBytes
    if (files !== undefined)
      routes((app) => importRoute(app, { files, spoolFolder, maxBytes, log }), { prefix: '/api/ipfs' })

    let giving: Promise<void> | undefined
    onStop(() => giving)
    onServing(() => {
      if (files === undefined || !store.isUsed) return
      giving = giveRecoveredFiles({ backend, files, users, log, signal })
    })
  },
})
