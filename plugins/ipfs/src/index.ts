import { join } from 'node:path'
import { definePlugin, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { LazyStore } from './store/lazy-store.ts'
import { createIpfsBackend } from './tree/ipfs-driver.ts'

/**
 * Publishes files under addresses that prove their content, and contributes the storage backend `ipfs`. Under another id, the backend has that id
 * as its name.
 */
export default definePlugin({
  id: 'ipfs',
  description: 'Publishes files under addresses that prove their content, and stores files as IPFS blocks.',
  config: Type.Object({}),
  contributes: { backends: StorageBackends },
  setup({ id, dataDir, sqliteFile, log, backends, onStop }) {
    const file = () => sqliteFile('index', { inBackups: false })
    const store = new LazyStore(join(dataDir, 'not-in-backups', 'packs'), file, log)
    const backend = createIpfsBackend(store)
    backends.add(id, backend)
    onStop(async () => {
      await backend.close()
      await store.close()
    })
  },
})
