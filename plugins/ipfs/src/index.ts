import { join } from 'node:path'
import { definePlugin, Type } from '@nodekeep/plugin-sdk'
import { LazyStore } from './store/lazy-store.ts'

/** Publishes files under addresses that prove their content, and contributes the storage backend `ipfs`. */
export default definePlugin({
  id: 'ipfs',
  description: 'Publishes files under addresses that prove their content, and stores files as IPFS blocks.',
  config: Type.Object({}),
  setup({ dataDir, sqliteFile, onStop }) {
    const store = new LazyStore(join(dataDir, 'not-in-backups', 'packs'), () =>
      sqliteFile('index', { inBackups: false }),
    )
    onStop(() => store.close())
  },
})
