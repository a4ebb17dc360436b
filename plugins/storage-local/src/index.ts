import { resolve } from 'node:path'
import { definePlugin, HealthChecks, StorageBackends } from '@nodekeep/plugin-sdk'
import { configuration } from './configuration.ts'
import { openLocalBackend } from './open-local-backend.ts'

/** Contributes the storage backend `local`: plain files on a local disk. */
export default definePlugin({
  id: 'storage-local',
  description: 'Storage on a local disk, as plain files.',
  config: configuration,
  contributes: { backends: StorageBackends, checks: HealthChecks },
  async setup({ id, config, nodeDataDir, log, backends, checks, onStop }) {
    const backend = await openLocalBackend({
      root: resolve(nodeDataDir, config.root ?? 'files'),
      cacheBytes: config.cacheBytes,
      onLeftover: (error) =>
        log.warn({ err: error }, 'something removed stays on the disk until the next start'),
    })
    onStop(() => backend.close())
    backends.add(id === 'storage-local' ? 'local' : id, backend)
    checks.add(id, {
      async check(signal) {
        await backend.probe(signal)
        return { ok: true, state: 'available' }
      },
    })
  },
})
