import { createStorageBackend, definePlugin, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { SqliteDriver } from './sqlite-driver.ts'

export default definePlugin({
  id: 'storage-sqlite',
  description: 'Stores files in one SQLite database, as the storage backend "sqlite".',
  config: Type.Object({
    file: Type.Optional(
      Type.String({
        description: "The file of the database. By default `files.sqlite` in the plugin's data folder.",
      }),
    ),
    maxBytes: Type.Integer({
      default: 2 ** 40,
      minimum: 65_536,
      description: 'The largest size of the database, in bytes.',
    }),
  }),
  contributes: { backends: StorageBackends },
  setup({ config, sqliteFile, backends, onStop }) {
    const file = config.file ?? sqliteFile('files')
    const backend = createStorageBackend(SqliteDriver.open(file, config.maxBytes))
    onStop(() => backend.close())
    backends.add('sqlite', backend)
  },
})
