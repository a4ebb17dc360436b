import { join } from 'node:path'
import { definePlugin, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { openSqliteBackend } from './sqlite-backend.ts'

export default definePlugin({
  id: 'storage-sqlite',
  description: 'Keeps files in one SQLite database, as the storage backend "sqlite".',
  config: Type.Object({
    file: Type.Optional(
      Type.String({ description: "The database. Below the plugin's data folder when not given." }),
    ),
    maxBytes: Type.Integer({
      default: 2 ** 40,
      minimum: 65_536,
      description: 'Largest size of the database.',
    }),
  }),
  contributes: { backends: StorageBackends },
  setup({ config, dataDir, backends, onStop }) {
    const backend = openSqliteBackend(config.file ?? join(dataDir, 'files.sqlite'), config)
    onStop(() => backend.close())
    backends.add('sqlite', backend)
  },
})
