import { definePlugin, StorageBackends } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createSearchNode, put, statusOf, untilComplete } from '../fixtures/search-node.ts'

/** The paths of the files that were read, in their order. */
const reads: string[] = []

/** A storage in memory that tells which files are read. */
const watched = definePlugin({
  id: 'watched',
  requires: { backends: StorageBackends },
  contributes: { own: StorageBackends },
  setup({ backends, own }) {
    const memory = backends.get('memory')
    if (memory === undefined) throw new Error('There is no storage "memory".')
    const read: typeof memory.read = (...args) => {
      reads.push(args[0])
      return memory.read(...args)
    }
    const get = (_: object, key: keyof typeof memory) => {
      const value = key === 'read' ? read : memory[key]
      return typeof value === 'function' ? value.bind(memory) : value
    }
    own.add('watched', new Proxy(memory, { get } as ProxyHandler<typeof memory>))
  },
})

test('a copy of a content that failed is hashed, and not tried again', async (t) => {
  const node = await createSearchNode({
    plugins: [watched],
    config: {
      plugins: { 'storage-memory': true },
      storage: { mounts: { '/': 'local', '/far': 'watched' } },
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const broken = Buffer.from(`%PDF-1.4\n${'garbage '.repeat(20)}`)
  const readsOf = (name: string) => reads.filter((path) => path.endsWith(name)).length
  await put(ada, '/far/broken.pdf', broken)
  await untilComplete(ada)
  t.equal(readsOf('broken.pdf'), 2, 'for its text, and for its hash')
  await put(ada, '/far/copy.pdf', broken)
  await untilComplete(ada)
  t.equal(readsOf('copy.pdf'), 1, 'for its hash')
  t.match(await statusOf(ada), { failed: { refused: 2 } })
})
