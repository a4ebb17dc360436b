import { createTestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t from 'tap'
import {
  captureServices,
  needsS3Server,
  newBucket,
  playSequences,
  s3Server,
  storedIn,
} from './fixtures/files-on-s3.ts'

/** Sequences of calls. */
const numRuns = Number(process.env.TEST_RUNS ?? 5)

t.test('the API, the journal and the bucket agree on an S3 server', { skip: needsS3Server }, async (t) => {
  const server = await s3Server()
  t.teardown(() => server.stop())
  const services = captureServices()
  const node = await createTestNode({
    plugins: [services.plugin],
    folder: import.meta.dirname,
    config: {
      plugins: { files: true, 'storage-s3': true },
      'storage-s3': await newBucket(server),
      storage: { mounts: { '/': 's3' } },
    },
  })
  t.teardown(() => node.stop())
  const stored = (user: TestUser) => storedIn(services.backends.get('s3') as StorageBackend, user)
  await playSequences(node, services, numRuns, stored)
})
