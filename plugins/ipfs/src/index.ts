import { join } from 'node:path'
import { ByteSize, definePlugin, Files, Type } from '@nodekeep/plugin-sdk'
import { importRoute, removeOldSpools } from './car-import/import-route.ts'
import { LazyStore } from './store/lazy-store.ts'

/** Publishes files under addresses that prove their content, and contributes the storage backend `ipfs`. */
export default definePlugin({
  id: 'ipfs',
  description: 'Publishes files under addresses that prove their content, and stores files as IPFS blocks.',
  config: Type.Object({
    maxImportBytes: ByteSize({
      default: 1024 ** 3,
      description: 'The most bytes of a CAR that is imported, and of the files in it.',
    }),
  }),
  optional: { files: Files },
  setup({ config, files, dataDir, sqliteFile, routes, log, onStart, onStop }) {
    const store = new LazyStore(join(dataDir, 'not-in-backups', 'packs'), () =>
      sqliteFile('index', { inBackups: false }),
    )
    onStop(() => store.close())
    const spoolFolder = join(dataDir, 'not-in-backups', 'imports')
    onStart(() => removeOldSpools(spoolFolder))
    const maxBytes = config.maxImportBytes
    if (files !== undefined)
      routes((app) => importRoute(app, { files, spoolFolder, maxBytes, log }), { prefix: '/api/ipfs' })
  },
})
