import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type RegistryReader, type StorageBackend, StorageBackends } from '@nodekeep/plugin-sdk'
import t from 'tap'

t.test(
  'the plugin contributes a backend by the name of its id, and makes nothing before the first use',
  async (t) => {
    const { promise, resolve } = Promise.withResolvers<RegistryReader<StorageBackend>>()
    const reader = definePlugin({
      id: 'reader',
      requires: { backends: StorageBackends },
      setup({ backends, onStart }) {
        onStart(() => resolve(backends))
      },
    })
    const node = await createTestNode({
      plugins: [reader],
      folder: import.meta.dirname,
      config: { plugins: { blocks: { from: 'ipfs' } } },
    })
    t.teardown(() => node.stop())
    const backends = await promise
    const packs = join(node.dataFolder, 'plugins', 'blocks', 'not-in-backups', 'packs')
    t.notOk(existsSync(packs))
    const backend = backends.get('blocks') as StorageBackend
    await backend.write(
      '/file',
      (async function* () {
        yield Buffer.from('content')
      })(),
    )
    t.ok(existsSync(packs))
    await node.stop()
    await t.rejects(backend.stat('/file'), { code: 'SERVICE_UNAVAILABLE' })
  },
)

t.test(
  'a second instance of the plugin, and a second mount of the backend, are refused with a remedy',
  async (t) => {
    const start = async (config: Record<string, unknown>) => {
      const node = await createTestNode({ folder: import.meta.dirname, config })
      await node.stop()
    }
    await t.rejects(
      start({ plugins: { ipfs: true, blocks: { from: 'ipfs' } } }),
      /"blocks" .*The route \w+ \/\S+ belongs to "ipfs" already\. Disable one of the two plugins\./,
    )
    await t.rejects(
      start({
        plugins: { files: true, 'storage-memory': true, ipfs: true },
        storage: { mounts: { '/': 'memory', '/a': 'ipfs', '/b': 'ipfs' } },
      }),
      /backend "ipfs" at "\/a" and at "\/b"\. Use it once\./,
    )
  },
)
