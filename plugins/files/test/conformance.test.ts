import { randomUUID } from 'node:crypto'
import { type ConformanceTest, filesConformance } from '@nodekeep/plugin-sdk/conformance/storage'
import t from 'tap'
import { captureServices } from './fixtures/captured-services.ts'
import { countingBackend } from './fixtures/counting-backend.ts'
import { createFilesNode } from './fixtures/files-node.ts'
import { objectBackend } from './fixtures/object-backend.ts'

// Concurrent: one of the tests waits for the disk.
t.jobs = 2
// One backend that moves folders in one step, one that does not, and one whose listings tell no revisions either.
for (const backend of ['local', 'objects', 'counting']) {
  t.test(`the view of a user on the backend "${backend}" conforms`, async (t) => {
    const services = captureServices()
    const objects = objectBackend({ moves: true, copies: true })
    const plugins = [services.plugin, objects.plugin, countingBackend({}, { listsRevisions: false }).plugin]
    const node = await createFilesNode({ mounts: { '/': backend } }, { plugins })
    t.teardown(() => node.stop())
    const test: ConformanceTest = (name, run) => void t.test(name, run)
    filesConformance(test, {
      create: async () => services.files.for({ uuid: randomUUID() }),
      // None of these has pages. A large folder of one of them is enough.
      ...(backend !== 'local' && { pageEntries: 50 }),
    })
    t.end()
  })
}
