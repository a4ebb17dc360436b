import { join } from 'node:path'
import { definePlugin, FilePath, HealthChecks, StorageBackends, Type } from '@nodekeep/plugin-sdk'
import { openLocalBackend } from './open-local-backend.ts'

const unreachable =
  'The disk with the files cannot be read or written. Look whether it is there, and at the log of the node.'

/** Contributes the storage backend `local`: plain files on a local disk. */
export default definePlugin({
  id: 'storage-local',
  description: 'Keeps the files on the disk of this machine.',
  config: Type.Object({
    root: Type.Optional(
      FilePath({ description: "The folder of the files. By default `files` in the node's data folder." }),
    ),
  }),
  contributes: { backends: StorageBackends, checks: HealthChecks },
  async setup({ id, config, nodeDataDir, log, backends, checks, onStop }) {
    const backend = await openLocalBackend({
      root: config.root ?? join(nodeDataDir, 'files'),
      onLeftover: (error) =>
        log.warn(
          { err: error },
          'A removed file or folder could not be deleted. The next start tries again.',
        ),
      onWatchFailure: (error) =>
        log.warn(
          { err: error },
          'The folder of the files cannot be watched for changes of other programs. All files are compared every 10 minutes ' +
            'instead, until the node restarts. On Linux, raise fs.inotify.max_user_watches and fs.inotify.max_user_instances.',
        ),
    })
    onStop(() => backend.close())
    backends.add(id === 'storage-local' ? 'local' : id, backend)
    checks.add(id, {
      async check(signal) {
        try {
          await backend.probe(signal)
          return { ok: true, state: 'available' }
        } catch {
          return { ok: false, state: 'unreachable', message: unreachable }
        }
      },
    })
  },
})
