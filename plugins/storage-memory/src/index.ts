import { definePlugin, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { MemoryBackend } from './memory-backend.ts'

const defaultLimit = 256 * 1024 * 1024

/**
 * Contributes the storage backend `memory`, or one named like the plugin where it is loaded under another id. What it
 * keeps is gone when the node stops.
 */
export default definePlugin({
  id: 'storage-memory',
  description: 'Keeps files in memory, as the storage backend "memory". They are gone when the node stops.',
  config: Type.Object({
    maxBytes: Type.Integer({
      default: defaultLimit,
      minimum: 0,
      description: 'Room for the content of all files together, in bytes.',
    }),
  }),
  contributes: { backends: StorageBackends },
  setup({ id, config, backends, onStop }) {
    const backend = new MemoryBackend({ ...config, section: id })
    onStop(() => backend.close())
    backends.add(id === 'storage-memory' ? 'memory' : id, backend)
  },
})
