import {
  createStorageBackend,
  definePlugin,
  flatDriver,
  HealthChecks,
  StorageBackends,
} from '@nodekeep/plugin-sdk'
import { Bucket } from './bucket.ts'
import { configuration } from './configuration.ts'
import { S3Store } from './s3-store.ts'
import { checkConfiguration } from './server/connect.ts'
import { remedyFor } from './server/failures.ts'
import { Upkeep } from './upkeep.ts'

/**
 * How long a call may make no progress, in milliseconds. Over a slow line, parts of a file take long. Silent connections end
 * earlier, by the client.
 */
const timeLimitMs = 5 * 60_000

/** Contributes the storage backend `s3`: files in a bucket of an S3 server. Under another id, the backend has that id as its name. */
export default definePlugin({
  id: 'storage-s3',
  description: 'Keeps files on a server of the kind S3, such as that of a hosting company.',
  config: configuration,
  contributes: { backends: StorageBackends, checks: HealthChecks },
  setup({ id, config, log, backends, checks, onServing, onStop }) {
    checkConfiguration(config, id)
    const bucket = new Bucket(config)
    const store = new S3Store(bucket, config.scanMinutes * 60_000)
    const backend = createStorageBackend(flatDriver(store), { timeLimitMs })
    backends.add(id === 'storage-s3' ? 's3' : id, backend)
    const upkeep = new Upkeep(bucket, log)
    // A node that does not use the storage asks the server nothing, and does not pay for the client.
    onServing(() => void bucket.used.then(() => upkeep.begin()))
    onStop(async () => {
      await upkeep.end()
      await backend.close()
    })
    checks.add(id, {
      async check(signal) {
        const { broken } = bucket
        if (!upkeep.hasBegun) return { ok: true, state: 'unused' }
        if (broken !== undefined) {
          const message = `The S3 server does not keep this: ${broken.promise} ${broken.otherwise} Use another server.`
          return { ok: false, state: 'unsafe', message }
        }
        try {
          await backend.probe(signal)
          return { ok: true, state: 'available' }
        } catch (error) {
          const message = remedyFor(error, bucket.name)
          return { ok: false, state: 'unreachable', ...(message !== null && { message }) }
        }
      },
    })
  },
})
