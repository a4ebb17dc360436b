import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, type StorageBackend, StorageBackends } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import storageMemory from '../src/index.ts'

async function* bytes(length: number): AsyncIterable<Uint8Array> {
  yield new Uint8Array(length)
}

/** Reads the registry at the start of the node, as a feature does. */
function createReader(name: string, found: (backend: StorageBackend | undefined) => void) {
  return definePlugin({
    id: 'reader',
    requires: { backends: StorageBackends },
    setup({ backends, onStart }) {
      onStart(() => found(backends.get(name)))
    },
  })
}

test('the plugin provides the backend "memory" with the configured limit until the node stops', async (t) => {
  const { promise, resolve } = Promise.withResolvers<StorageBackend | undefined>()
  const node = await createTestNode({
    plugins: [storageMemory, createReader('memory', resolve)],
    config: { 'storage-memory': { maxBytes: 100 } },
  })
  t.teardown(() => node.stop())
  const backend = await promise
  if (backend === undefined) throw new Error('There is no backend "memory".')
  t.match(await backend.write('/fits', bytes(100)), { size: 100 })
  await t.rejects(backend.write('/too-much', bytes(1)), {
    code: 'INSUFFICIENT_STORAGE',
    message: /storage-memory\.maxBytes \(100 now\)/,
  })
  await node.stop()
  await t.rejects(backend.stat('/fits'), { code: 'SERVICE_UNAVAILABLE' })
})

test('a limit that is not a number of bytes is refused', async (t) => {
  for (const maxBytes of [-1, 1.5, 'much']) {
    const starting = createTestNode({ plugins: [storageMemory], config: { 'storage-memory': { maxBytes } } })
    await t.rejects(starting, /storage-memory\.maxBytes/)
  }
})

test('the plugin under another id provides a backend of that name', async (t) => {
  const { promise, resolve } = Promise.withResolvers<StorageBackend | undefined>()
  const node = await createTestNode({
    plugins: [createReader('scratch', resolve)],
    config: { plugins: { scratch: { from: 'storage-memory' } }, scratch: { maxBytes: 1 } },
    folder: new URL('..', import.meta.url).pathname,
  })
  t.teardown(() => node.stop())
  const backend = await promise
  if (backend === undefined) throw new Error('There is no backend "scratch".')
  await t.rejects(backend.write('/too-much', bytes(2)), { message: /raise scratch\.maxBytes/ })
})
