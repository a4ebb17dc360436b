import { definePlugin, StorageBackends } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createSearchNode, put, statusOf, untilComplete } from '../fixtures/search-node.ts'

/** Readings that were begun, and those whose loop has ended. */
const readings = { begun: 0, ended: 0 }

/** A storage in memory whose files always have another revision when they are read. */
const changing = definePlugin({
  id: 'changing',
  requires: { backends: StorageBackends },
  contributes: { own: StorageBackends },
  setup({ backends, own }) {
    const memory = backends.get('memory')
    if (memory === undefined) throw new Error('There is no storage "memory".')
    const read: typeof memory.read = async (...args) => {
      const { entry, content } = await memory.read(...args)
      readings.begun += 1
      return { entry: { ...entry, revision: 'another' }, content: counted(content) }
    }
    const get = (_: object, key: keyof typeof memory) => {
      const value = key === 'read' ? read : memory[key]
      return typeof value === 'function' ? value.bind(memory) : value
    }
    own.add('changing', new Proxy(memory, { get } as ProxyHandler<typeof memory>))
  },
})

async function* counted(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content
  } finally {
    readings.ended += 1
  }
}

test('a file that another program has changed is closed, and tried again later', async (t) => {
  const node = await createSearchNode({
    plugins: [changing],
    config: {
      plugins: { 'storage-memory': true },
      storage: { mounts: { '/': 'local', '/far': 'changing' } },
    },
  })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/far/file.txt', 'walrus')
  await untilComplete(ada)
  t.match(await statusOf(ada), { failed: { unreadable: 1 } })
  t.ok(readings.begun > 0)
  t.equal(readings.ended, readings.begun)
})
