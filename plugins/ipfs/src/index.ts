import { join } from 'node:path'
import { Changes, definePlugin, Files, NodeAddress, StorageBackends } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
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
  contributes: { backends: StorageBackends },
  setup({ id, config, address, files, changes, dataDir, sqliteFile, backends, routes, log, signal, ...context }) {
    const { onServing, onStop } = context
    const store = new LazyStore(join(dataDir, 'not-in-backups', 'packs'), () =>
      sqliteFile('index', { inBackups: false }),
    )
    onStop(() => store.close())
    const backend = createIpfsBackend(store)
    backends.add(id, backend)
    onStop(() => backend.close())
    const publications = new Publications(dataDir, sqliteFile)
    onStop(() => publications.close())
    const limits = config.publishing
    const publisher = new Publisher({ publications, store, files, changes, limits, log, signal })
    onStop(() => publisher.close())
    onServing(() => publisher.heal())
    routes((app) => publishingRoutes(app, publisher, address), { prefix: '/api/ipfs' })
  },
})
