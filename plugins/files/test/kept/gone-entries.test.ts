import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'
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
  const keptEntries = () => {
    const folder = join(dataFolder, 'plugins/files')
    const file = readdirSync(folder, { recursive: true })
      .map(String)
      .find((name) => name.endsWith('journal.sqlite'))
    const journal = new DatabaseSync(join(folder, file ?? ''), { readOnly: true })
    const found = journal.prepare('SELECT path FROM kept_entries').all()
    journal.close()
    return found.map(({ path }) => path)
  }
  const right = await start('the bucket')
  const { user } = await right.node.signIn()
  await right.files.for(user).write('/cold/file', Readable.from([Buffer.from('x')]))
  await right.files.for(user).remove('/cold/file')
  await right.node.stop()
  const kept = keptEntries()
  t.equal(kept.length, 1)
  const wrong = await start('another bucket')
  // A stop waits for what the start has begun.
  await wrong.node.stop()
  t.strictSame(keptEntries(), kept)
})
