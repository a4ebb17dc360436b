import { takeSnapshot } from '@nodekeep/kernel/testing'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../src/disk/disk.ts'
import { openLocalBackend } from '../src/open-local-backend.ts'
import { chunks, collect, leftovers, openBelow, temporaryFolder } from './fixtures/storage-folder.ts'

/** Opens a backend on a disk that can hold one call: `reached` resolves when the call begins, `release` continues it. */
async function openHeldBackend(t: Test, call: 'rename' | 'link') {
  const root = temporaryFolder(t)
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let holds = false
  const disk: Disk = {
    ...localDisk,
    async [call](from: string, to: string) {
      if (holds) {
        reached.resolve()
        await released.promise
      }
      await localDisk[call](from, to)
    },
  }
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  await backend.write('/user/file', chunks('old'))
  return {
    root,
    backend,
    reached: reached.promise,
    hold() {
      holds = true
    },
    release() {
      holds = false
      released.resolve()
    },
  }
}

/** Waits for several turns of the event loop and the threads, in which an unwanted change would happen. */
async function turns(backend: { stat(path: string): Promise<unknown> }): Promise<void> {
  for (let count = 0; count < 20; count += 1) await backend.stat('/user')
}

t.test(
  'a close waits for the last step of a write, and aborts writes whose content is incomplete',
  async (t) => {
    const { root, backend, reached, hold, release } = await openHeldBackend(t, 'rename')
    const silent = Promise.withResolvers<void>()
    async function* unending() {
      yield Buffer.from('first')
      silent.resolve()
      await new Promise(() => {})
    }
    const incomplete = backend.write('/user/incomplete', unending()).catch((error: unknown) => error)
    await silent.promise
    hold()
    const last = backend.write('/user/file', chunks('new'))
    await reached
    let closed = false
    const closing = backend.close().then(() => {
      closed = true
    })
    t.match(await incomplete, { code: 'SERVICE_UNAVAILABLE' })
    t.equal(closed, false)
    release()
    t.equal((await last).size, 3)
    await closing
    t.strictSame(leftovers(root), [])
    t.strictSame(openBelow(root), [])
  },
)

t.test('a close ends reads with an error, and never as if the file were shorter', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  await backend.write('/user/large', chunks(Buffer.alloc(5_000_000)))
  const begun = (await backend.read('/user/large')).content[Symbol.asyncIterator]()
  await begun.next()
  const untouched = (await backend.read('/user/large')).content
  await backend.close()
  await t.rejects(begun.next(), { code: 'SERVICE_UNAVAILABLE' })
  await t.rejects(collect(untouched), { code: 'SERVICE_UNAVAILABLE' })
  t.strictSame(openBelow(root), [])
})

t.test('changes wait for the end of a halt, and reads and uploads continue', async (t) => {
  const { backend } = await openHeldBackend(t, 'link')
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const whileHalted = () => {
    reached.resolve()
    return released.promise
  }
  const making = takeSnapshot(await backend.prepareSnapshot?.(new AbortController().signal), whileHalted)
  await reached.promise
  let changed = false
  const received = Promise.withResolvers<void>()
  async function* upload() {
    yield Buffer.from('new')
    received.resolve()
  }
  const changes = Promise.all([
    backend.write('/user/file', upload()),
    backend.makeDirectory('/user/made'),
    backend.move?.('/user/file', '/user/moved').catch(() => {}),
  ]).then(() => {
    changed = true
  })
  await received.promise
  t.equal((await collect((await backend.read('/user/file')).content)).toString(), 'old')
  await turns(backend)
  t.equal(changed, false)
  released.resolve()
  const snapshot = await making
  await changes
  const past = await Array.fromAsync(snapshot.list('/user'))
  t.strictSame(
    past.map(({ name }) => name),
    ['file'],
  )
  const reading = await snapshot.read('/user/file')
  t.equal((await collect(reading.content)).toString(), 'old')
  await snapshot.release()
})

t.test('a snapshot that is aborted leaves no files, and changes continue', async (t) => {
  const { root, backend, reached, hold, release } = await openHeldBackend(t, 'link')
  hold()
  const controller = new AbortController()
  const making = backend.prepareSnapshot?.(controller.signal).catch((error: unknown) => error)
  await reached
  controller.abort(new Error('enough'))
  release()
  t.match(await making, { message: 'enough' })
  t.strictSame(leftovers(root), [])
  await backend.write('/user/file', chunks('x'))
})

t.test('a close releases the open snapshots', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  await backend.write('/user/a/b', chunks('x'))
  const snapshot = await takeSnapshot(await backend.prepareSnapshot?.(new AbortController().signal))
  await backend.close()
  t.strictSame(leftovers(root), [])
  t.strictSame(openBelow(root), [])
  await t.rejects(async () => snapshot.read('/user/a/b'), { code: 'SERVICE_UNAVAILABLE' })
})
