import { join } from 'node:path'
import { definePlugin, Files, StorageBackends, Type, UserDirectory } from '@nodekeep/plugin-sdk'
import { LazyStore } from './store/lazy-store.ts'
import { createIpfsBackend } from './tree/ipfs-driver.ts'
import { giveRecoveredFiles } from './tree/recovered-files.ts'

/**
 * Publishes files under addresses that prove their content, and contributes the storage backend `ipfs`. Under another id, the backend has that id
 * as its name.
 */
export default definePlugin({
  id: 'ipfs',
  description: 'Publishes files under addresses that prove their content, and stores files as IPFS blocks.',
  config: Type.Object({}),
  requires: { users: UserDirectory },
  optional: { files: Files },
  contributes: { backends: StorageBackends },
  setup({ id, dataDir, sqliteFile, users, files, backends, log, signal, onServing, onStop }) {
    const packs = join(dataDir, 'not-in-backups', 'packs')
    const store = new LazyStore(packs, () => sqliteFile('index', { inBackups: false }), log)
    onStop(() => store.close())
    const backend = createIpfsBackend(store, packs)
    onStop(() => backend.close())
    backends.add(id, backend)
    let giving: Promise<void> | undefined
    onStop(() => giving)
    onServing(() => {
      if (files === undefined || !store.isUsed) return
      giving = giveRecoveredFiles({ backend, files, users, log, signal }).catch((error) => {
        if (!signal.aborted) log.warn({ err: error }, 'Recovered files could not be given to the owner yet.')
      })
    })
  },
})
