import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, StorageBackends } from '@nodekeep/plugin-sdk'
import t from 'tap'
import storageLocal from '../src/index.ts'
import { chunks, temporaryFolder } from './fixtures/storage-folder.ts'

/** Writes through the backend `local`. */
const writer = definePlugin({
  id: 'writer',
  requires: { backends: StorageBackends },
  setup({ backends, routes }) {
    routes((app) => {
      app.post('/writer', async () => {
        await backends.get('local')?.write('/someone/hello.txt', chunks('hello'))
        return { names: backends.names() }
      })
    })
  },
})

t.test('files are plain files in the node’s data folder', async (t) => {
  const node = await createTestNode({ plugins: [storageLocal, writer] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const answer = await ada.fetch('/writer', { method: 'POST' })
  t.strictSame(await answer.json(), { names: ['local'] })
  t.equal(readFileSync(join(node.dataFolder, 'files', 'someone', 'hello.txt'), 'utf8'), 'hello')
})

t.test('the configuration chooses the folder', async (t) => {
  const root = join(temporaryFolder(t), 'elsewhere')
  const node = await createTestNode({
    plugins: [storageLocal, writer],
    config: { 'storage-local': { root } },
  })
  const ada = await node.signIn()
  await ada.fetch('/writer', { method: 'POST' })
  await node.stop()
  t.strictSame(readdirSync(root).sort(), ['.nodekeep', 'someone'])
})

t.test('the health report says that the folder was removed', async (t) => {
  const node = await createTestNode({
    plugins: [storageLocal],
    config: { health: { required: ['storage-local'] } },
  })
  t.teardown(() => node.stop())
  t.equal((await node.fetch('/health')).status, 200)
  rmSync(join(node.dataFolder, 'files'), { recursive: true })
  // The report is cached for a moment.
  let status = 200
  while (status === 200) {
    await delay(20)
    status = (await node.fetch('/health')).status
  }
  t.equal(status, 503)
})
