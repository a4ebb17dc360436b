import { join } from 'node:path'
import {
  Changes,
  definePlugin,
  FileHeaders,
  Files,
  HealthChecks,
  NodeAddress,
  StorageBackends,
  UserData,
} from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { ipfsHealth } from './health.ts'
import { cidHeaders } from './publishing/cid-headers.ts'
import { Publications } from './publishing/publications.ts'
import { Publisher } from './publishing/publisher.ts'
import { publishingRoutes } from './publishing/publishing-routes.ts'
import { LazyStore } from './store/lazy-store.ts'
import { createIpfsBackend } from './tree/ipfs-driver.ts'

/**
 * Publishes files under addresses that prove their content, and contributes the storage backend `ipfs`. Under another id, the backend has that id
 * as its name.
 */
export default definePlugin({
  id: 'ipfs',
  description: 'Publishes files under addresses that prove their content, and stores files as IPFS blocks.',
  config: configuration,
  requires: { address: NodeAddress },
  optional: { files: Files, changes: Changes },
  contributes: {
    backends: StorageBackends,
    fileHeaders: FileHeaders,
    health: HealthChecks,
    userData: UserData,
  },
  setup({ id, config, address, files, changes, dataDir, sqliteFile, routes, log, signal, ...context }) {
    const { backends, fileHeaders, health, userData, onServing, onStop } = context
    const store = new LazyStore(join(dataDir, 'not-in-backups', 'packs'), () =>
      sqliteFile('index', { inBackups: false }),
    )
    onStop(() => store.close())
    const backend = createIpfsBackend(store)
    backends.add(id, backend)
    onStop(() => backend.close())
    health.add(id, ipfsHealth(store))

    const publications = new Publications(dataDir, sqliteFile)
    onStop(() => publications.close())
    const limits = config.publishing
    const publisher = new Publisher({ publications, store, files, changes, limits, log, signal })
    onStop(() => publisher.close())
    onServing(() => publisher.heal())
    userData.add(id, { erase: (userUuid) => publisher.erase(userUuid) })
    fileHeaders.add(id, cidHeaders(publications, store))
    routes((app) => publishingRoutes(app, publisher, address), { prefix: '/api/ipfs' })
  },
})
