import t from 'tap'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, collect, folderInMemory } from '../fixtures/storage-folder.ts'

const size = 64 * 1024

t.test('only chunks that were given to be freed are, and only when they fill their buffers', async (t) => {
  const backend = await openLocalBackend({ root: folderInMemory(t) })
  t.teardown(() => backend.close())
  for (const freeChunks of [true, false]) {
    const whole = Array.from({ length: 20 }, (_, n) => Buffer.alloc(size, n))
    const shared = Buffer.alloc(3 * size, 'shared')
    const small = Buffer.alloc(100, 'small')
    const parts = [...whole, shared.subarray(size, 2 * size), small, shared.subarray(0, size)]
    const expected = Buffer.concat(parts)
    await backend.write('/user/file', chunks(...parts), { freeChunks })
    t.ok(expected.equals(await collect((await backend.read('/user/file')).content)), 'all bytes are stored')
    t.strictSame(new Set(whole.map(({ length }) => length)), new Set([freeChunks ? 0 : size]))
    t.equal(shared.length, 3 * size)
    t.equal(small.length, 100)
  }
})
