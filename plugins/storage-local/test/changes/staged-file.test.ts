import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, collect, contentsOf, folderInMemory, leftovers } from '../fixtures/storage-folder.ts'

const size = 64 * 1024

t.test('chunks are freed only with `freeChunks`, and only if they fill their buffers', async (t) => {
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

t.test('a write whose sync fails ends after `beforeCommit` has ended', async (t) => {
  const fdatasync = async () => {
    throw Object.assign(new Error('EIO'), { code: 'EIO', syscall: 'fdatasync' })
  }
  const root = folderInMemory(t)
  const backend = await openLocalBackend({ root, disk: { ...localDisk, fdatasync } })
  t.teardown(() => backend.close())
  await backend.makeDirectory('/user')
  const before = contentsOf(root)
  const events: string[] = []
  const beforeCommit = async () => {
    events.push('called')
    await delay(50)
    events.push('answered')
  }
  const write = backend.write('/user/file', chunks('x'), { beforeCommit })
  await t.rejects(write, { code: 'SERVICE_UNAVAILABLE' })
  events.push('ended')
  t.strictSame(events, ['called', 'answered', 'ended'])
  t.strictSame(contentsOf(root), before)
  t.strictSame(leftovers(root), [])
})
