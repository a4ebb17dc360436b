import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { captureServices } from './fixtures/captured-services.ts'
import { createFilesNode } from './fixtures/files-node.ts'
import { untilEmpty } from './fixtures/leftovers.ts'
import { objectBackend } from './fixtures/object-backend.ts'
import { filesIn, playSequences, storedIn } from './fixtures/play-sequences.ts'

/** Sequences, unless the environment sets another number. */
const numRuns = Number(process.env.TEST_RUNS ?? 20)

t.test('the API behaves like a map of paths, and the journal and the disk agree', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  await playSequences(node, services, numRuns)
  const root = join(node.dataFolder, 'files')
  const folders = await readdir(root)
  t.notOk(
    folders.find((name) => !/^[0-9a-f-]{36}$/.test(name) && name !== '.nodekeep' && name !== 'kept'),
    'no entry is outside the folders of users and that of what is kept',
  )
  // Removed folders are emptied in the background.
  t.strictSame(await untilEmpty(() => filesIn(join(root, '.nodekeep'))), [], 'no temporary file exists')
})

for (const moves of [true, false]) {
  const files = moves ? 'moves single files only' : 'moves nothing'
  t.test(`the API, the journal and the disk agree on a storage that ${files} in one step`, async (t) => {
    const services = captureServices()
    const { plugin } = objectBackend({ moves, copies: !moves })
    const node = await createFilesNode({ mounts: { '/': 'objects' } }, { plugins: [services.plugin, plugin] })
    t.teardown(() => node.stop())
    await playSequences(node, services, Math.ceil(numRuns / 4))
  })
}

t.test('the API, the journal and the storage agree on a storage of blocks', async (t) => {
  const services = captureServices()
  const config = { plugins: { ipfs: true } }
  const node = await createFilesNode({ mounts: { '/': 'ipfs' } }, { config, plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const stored = (user: TestUser) => storedIn(services.backends.get('ipfs') as StorageBackend, user)
  await playSequences(node, services, Math.ceil(numRuns / 4), stored)
})
