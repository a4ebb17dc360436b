import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, journalOf } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.test('a start on another disk or bucket forgets nothing that is kept', async (t) => {
  const dataFolder = t.testdir()
  const start = async (id: string) => {
    const shaky = shakyBackend({ watches: true })
    shaky.storageId = id
    const services = captureServices()
    const plugins = [services.plugin, shaky.plugin]
    const node = await createFilesNode({ mounts: { '/cold': 'shaky' } }, { dataFolder, plugins })
    t.teardown(() => node.stop())
    return { node, files: services.files }
  }
  const inIndex = (query: string) => {
    const journal = new DatabaseSync(journalOf(dataFolder), { readOnly: true })
    const found = journal.prepare(query).all()
    journal.close()
    return found
  }
  const keptEntries = () => inIndex('SELECT path FROM kept_entries')
  const right = await start('the bucket')
  const { user } = await right.node.signIn()
  await right.files.for(user).write('/cold/file', Readable.from([Buffer.from('x')]))
  await right.files.for(user).remove('/cold/file')
  // The entries of a storage that never told its id count as those of the first one that does.
  while (inIndex("SELECT 1 FROM storages WHERE id = 'the bucket'").length === 0) await delay(10)
  await right.node.stop()
  const kept = keptEntries()
  t.equal(kept.length, 1)
  const wrong = await start('another bucket')
  // A stop waits for what the start has begun.
  await wrong.node.stop()
  t.strictSame(keptEntries(), kept)
})
