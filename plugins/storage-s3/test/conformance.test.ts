import type { StorageBackend } from '@nodekeep/plugin-sdk'
import { storageConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import t from 'tap'
import type { Configuration } from '../src/configuration.ts'
import { connect } from '../src/server/connect.ts'
import { faultyProxy } from './fixtures/faulty-proxy.ts'
import { newBucket, openBucket, probed } from './fixtures/s3-bucket.ts'
import { needsS3Server, s3Server } from './fixtures/s3-server.ts'

t.test('the storage passes the suite on a real S3 server', { skip: needsS3Server }, async (t) => {
  const server = await s3Server()
  t.teardown(() => server.stop())
  const proxy = await faultyProxy(server)
  t.teardown(() => proxy.close())
  const configs = new WeakMap<StorageBackend, Configuration>()
  const bucket = await newBucket(server, { endpoint: proxy.endpoint })
  const probe = await probed(bucket)
  const pageKeys = 20
  let opened = 0
  const open = (config: Configuration) => {
    const backend = openBucket(config, probe, { pageKeys })
    configs.set(backend, config)
    return backend
  }
  const configOf = (backend: StorageBackend) => configs.get(backend) as Configuration

  storageConformance((name, run) => t.test(name, run), {
    create: async () => open({ ...bucket, prefix: `kept-${opened++}/` }),
    reopen: async (closed) => open(configOf(closed)),
    pageEntries: pageKeys,
    server: {
      async unreachable() {
        await proxy.refuse()
        return () => proxy.accept()
      },
      async failOnce(_backend, skip) {
        // The client sends a request three times.
        const failure = proxy.disturb({ status: 500 }, { skip, count: 3 })
        return async () => failure.end()
      },
      async stall() {
        const silence = proxy.disturb({ cut: 'request', after: 0, isSilent: true })
        return async () => silence.end()
      },
    },
    otherProgram(backend) {
      const { bucket: Bucket, prefix } = configOf(backend)
      const at = (path: string) => ({ Bucket, Key: `${prefix}${path.slice(1)}` })
      const client = connect(configOf(backend))
      t.teardown(async () => (await client).destroy())
      return {
        async write(path, text) {
          await (await client).putObject({ ...at(path), Body: text })
        },
        async remove(path) {
          const { Key: key } = at(path)
          const { Contents = [] } = await (await client).listObjectsV2({ Bucket, Prefix: key })
          for (const { Key = '' } of Contents)
            if (Key === key || Key.startsWith(`${key}/`)) await (await client).deleteObject({ Bucket, Key })
        },
      }
    },
  })
})
