import { createStorageBackend, definePlugin, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { openDatabase, sqliteDriver } from './sqlite-driver.ts'

export default definePlugin({
  id: 'storage-sqlite',
  description: 'Stores files in one SQLite database, as the storage backend "sqlite".',
  config: Type.Object({
    file: Type.Optional(Type.String({ description: 'The database. By default it is in the data folder.' })),
    maxBytes: Type.Integer({ default: 2 ** 40, minimum: 65_536, description: 'Its largest size in bytes.' }),
  }),
  contributes: { backends: StorageBackends },
  setup({ config, sqliteFile, backends, onStop }) {
    const file = config.file ?? sqliteFile('files')
    const backend = createStorageBackend(sqliteDriver(openDatabase(file, config.maxBytes)))
    onStop(() => backend.close())
    backends.add('sqlite', backend)
  },
})
