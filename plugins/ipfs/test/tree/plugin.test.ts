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
