import { takeSnapshot } from '@nodekeep/kernel/testing'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createMemoryBackend } from '../src/memory-driver.ts'

async function* chunks(count: number, size: number): AsyncIterable<Uint8Array> {
  for (let index = 0; index < count; index += 1) yield new Uint8Array(size).fill(index)
}

const full = { code: 'INSUFFICIENT_STORAGE' }

test('the limit counts all files and unfinished writes together', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 100 })
  const { promise: halted, resolve: halt } = Promise.withResolvers<void>()
  const { promise: more, resolve: goOn } = Promise.withResolvers<void>()
  async function* halting() {
    yield* chunks(1, 60)
    halt()
    await more
    yield* chunks(1, 10)
  }
  const slow = backend.write('/slow', halting())
  await halted
  await t.rejects(backend.write('/other', chunks(1, 41)), full)
  await backend.write('/other', chunks(1, 30))
  goOn()
  await slow
  await t.rejects(backend.write('/more', chunks(1, 1)), full)
})

test('a removal, a replacement, a move onto a file and an aborted write free their bytes', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 100 })
  for (let round = 0; round < 5; round += 1) {
    await backend.write('/a/file', chunks(1, 40))
    await backend.write('/a/file', chunks(1, 50))
    await backend.write('/b', chunks(1, 50))
    await backend.move?.('/b', '/a', { overwrite: true })
    await backend.write('/c', chunks(1, 50))
    await t.rejects(backend.write('/d', chunks(3, 40)), full)
    await t.rejects(
      backend.write('/c', chunks(1, 0), { beforeCommit: () => Promise.reject(new Error('no')) }),
    )
    await backend.remove('/a')
    await backend.remove('/c')
  }
  await backend.write('/whole', chunks(1, 100))
})

test('a copy counts like a file of its own', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 100 }) as Required<StorageBackend>
  await backend.write('/file', chunks(1, 40))
  for (let round = 0; round < 5; round += 1) {
    await backend.copy('/file', '/copy')
    const attempt = backend.copy('/file', '/other')
    await t.rejects(attempt, full)
    const refused = () => Promise.reject(new Error('no'))
    await backend.remove('/copy')
    await t.rejects(backend.copy('/file', '/copy', { beforeCommit: refused }), { message: 'no' })
  }
  await backend.remove('/file')
  await backend.write('/whole', chunks(1, 100))
})

test('what is kept counts until it is removed', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 100 })
  await backend.write('/file', chunks(1, 40))
  await backend.write('/file', chunks(1, 40), { keepReplacedAt: '/kept/first' })
  await t.rejects(backend.write('/more', chunks(1, 21)), full)
  await backend.write('/file', chunks(1, 20), { keepReplacedAt: '/kept/second' })
  await t.rejects(backend.write('/more', chunks(1, 1)), full)
  await backend.move?.('/file', '/kept/first', { overwrite: true })
  await backend.remove('/kept')
  await backend.write('/whole', chunks(1, 100))
})

test('many small chunks take no more memory than their bytes', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 1_000_000 })
  await backend.write('/file', chunks(200_000, 1))
  let count = 0
  for await (const chunk of (await backend.read('/file')).content) count += chunk.length > 0 ? 1 : 0
  t.ok(count < 10, `${count} chunks`)
})

test('a tree may be deeper than the stack', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 100 })
  const deep = '/d'.repeat(20_000)
  await backend.write(`${deep}/file`, chunks(1, 100))
  const snapshot = await takeSnapshot(await backend.prepareSnapshot?.(new AbortController().signal))
  t.match(await snapshot.read(`${deep}/file`), { entry: { size: 100 } })
  await backend.remove('/d')
  await backend.write('/fits', chunks(1, 100))
})

test('a reader that changes its chunk does not change the file', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 1000 })
  await backend.write('/file', chunks(1, 10))
  for await (const chunk of (await backend.read('/file')).content) chunk.fill(7)
  for await (const chunk of (await backend.read('/file')).content) t.ok(chunk.every((byte) => byte === 0))
})

test('the date of creation stays when a file is overwritten or moved', async (t) => {
  const backend = createMemoryBackend({ maxBytes: 1000 })
  const { created } = await backend.write('/file', chunks(1, 1))
  t.strictSame((await backend.write('/file', chunks(1, 2))).created, created)
  await backend.move?.('/file', '/moved')
  t.strictSame((await backend.stat('/moved')).created, created)
})

test('revisions differ from those of another backend', async (t) => {
  const [one, other] = [createMemoryBackend({ maxBytes: 100 }), createMemoryBackend({ maxBytes: 100 })]
  const { revision } = await one.write('/a', chunks(1, 1))
  t.not((await other.write('/a', chunks(1, 2))).revision, revision)
})
