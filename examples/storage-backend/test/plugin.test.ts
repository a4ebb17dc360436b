import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type StorageBackend, StorageBackends } from '@nodekeep/plugin-sdk'
import storageSqlite from '../src/index.ts'

/** Returns a plugin that uses the backend when the node starts, as a feature does. */
function pluginThatUses(use: (backend: StorageBackend) => Promise<void>) {
  return definePlugin({
    id: 'user-of-storage',
    requires: { backends: StorageBackends },
    setup({ backends, onStart }) {
      onStart(async () => {
        const backend = backends.get('sqlite')
        assert.ok(backend, 'The registry has no backend "sqlite".')
        await use(backend)
      })
    },
  })
}

async function run(dataFolder: string, use: (backend: StorageBackend) => Promise<void>): Promise<void> {
  const node = await createTestNode({ plugins: [storageSqlite, pluginThatUses(use)], dataFolder })
  await node.stop()
}

async function* bytesOf(content: string) {
  yield Buffer.from(content)
}

test('The next run of the node reads the files of this one', async (t) => {
  const dataFolder = await mkdtemp(join(tmpdir(), 'storage-sqlite-'))
  t.after(() => rm(dataFolder, { recursive: true, force: true }))
  await run(dataFolder, async (backend) => {
    await backend.write('/notes/today.txt', bytesOf('Hello!'))
  })
  await run(dataFolder, async (backend) => {
    const { entry, content } = await backend.read('/notes/today.txt')
    assert.equal(entry.size, 6)
    assert.equal(await text(content), 'Hello!')
  })
})

test('The error for an invalid limit names its key', async () => {
  const config = { 'storage-sqlite': { maxBytes: 10 } }
  await assert.rejects(createTestNode({ plugins: [storageSqlite], config }), /storage-sqlite\.maxBytes/)
})
