import { definePlugin, NodekeepError, StorageBackends } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createPreviewNode, fixture, preview, put, sidesOf, statusOf } from './fixtures/preview-node.ts'

test('a file on a storage out of reach has its preview later', async (t) => {
  let isReachable = true
  const shaky = definePlugin({
    id: 'shaky',
    requires: { backends: StorageBackends },
    contributes: { own: StorageBackends },
    setup({ backends, own }) {
      const memory = backends.get('memory')
      if (memory === undefined) throw new Error('There is no storage "memory".')
      const read: typeof memory.read = (...args) => {
        if (isReachable) return memory.read(...args)
        throw new NodekeepError('SERVICE_UNAVAILABLE', 'The storage is out of reach.')
      }
      const get = (_: object, key: keyof typeof memory) => {
        const value = key === 'read' ? read : memory[key]
        return typeof value === 'function' ? value.bind(memory) : value
      }
      own.add('shaky', new Proxy(memory, { get } as ProxyHandler<typeof memory>))
    },
  })
  const node = await createPreviewNode({
    plugins: [shaky],
    config: {
      plugins: { 'storage-memory': true },
      storage: { mounts: { '/': 'local', '/far': 'shaky' } },
      previews: { background: false },
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/far/a.png', fixture('png.png'))
  isReachable = false
  t.equal((await preview(ada, '/far/a.png')).status, 503)
  t.match(await statusOf(ada), { made: 0, failed: {} }, 'it is no fault of the content')
  t.equal((await node.fetch('/health')).status, 200)
  isReachable = true
  t.strictSame(await sidesOf(ada, '/far/a.png'), [256, 192])
})
