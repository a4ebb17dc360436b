import { ByteSize, definePlugin, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { createMemoryBackend } from './memory-driver.ts'

const defaultLimit = 256 * 1024 * 1024

/**
 * Contributes the storage backend `memory`. Under another id, the backend has that id as its name. The files are lost
 * when the node stops.
 */
export default definePlugin({
  id: 'storage-memory',
  description: 'Keeps files in memory only: they are lost when the node stops.',
  config: Type.Object({
    maxBytes: ByteSize({
      default: defaultLimit,
      minimum: 0,
      description: 'The most bytes that the content of all files of all users together may take.',
    }),
  }),
  contributes: { backends: StorageBackends },
  setup({ id, config, backends, onStop }) {
    const backend = createMemoryBackend({ ...config, section: id })
    onStop(() => backend.close())
    backends.add(id === 'storage-memory' ? 'memory' : id, backend)
  },
})
