import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import {
  createStorageBackend,
  type StorageBackend,
  type StorageDriver,
  type StorageDriverWriteOptions,
} from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { chunks, PaperDriver } from './fixtures/paper-driver.ts'

const limitMs = 30_000
const late = { code: 'SERVICE_UNAVAILABLE', cause: { name: 'TimeoutError' } }

function useClock(t: Test): void {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
}

/** Lets every step run that waits for no timer. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await setImmediate()
}

/** A backend whose storage never answers the replaced calls, and a list of the signals that they got. */
function silentBackend(...silent: readonly (keyof StorageDriver)[]) {
  const signals: AbortSignal[] = []
  const driver = new PaperDriver()
  driver.put('/folder/file', Buffer.alloc(0))
  for (const name of silent) {
    const call = (...args: { readonly signal?: AbortSignal }[]) => {
      const signal = args.at(-1)?.signal
      if (signal !== undefined) signals.push(signal)
      const next = () => new Promise<never>(() => {})
      return name === 'list' ? { [Symbol.asyncIterator]: () => ({ next }) } : next()
    }
    Object.assign(driver, { [name]: call })
  }
  return { backend: createStorageBackend(Object.assign(driver, { supports: {} })), driver, signals }
}

test('each call that the storage never answers is given up after 30 s, and its signal aborts', async (t) => {
  useClock(t)
  const calls: Record<string, (backend: StorageBackend) => Promise<unknown>> = {
    stat: (backend) => backend.stat('/folder'),
    list: (backend) => Array.fromAsync(backend.list('/folder')),
    open: (backend) => backend.read('/folder/file'),
    write: (backend) => backend.write('/folder/new', chunks(Buffer.from('x'))),
    copy: (backend) => (backend as Required<StorageBackend>).copy('/folder/file', '/folder/copy'),
    makeDirectory: (backend) => backend.makeDirectory('/folder/new'),
    remove: (backend) => backend.remove('/folder/file'),
    move: async (backend) => backend.move?.('/folder/file', '/folder/moved'),
  }
  for (const [name, call] of Object.entries(calls)) {
    const { backend, driver, signals } = silentBackend(name as keyof StorageDriver)
    let outcome = 'waits'
    const called = call(backend).finally(() => {
      outcome = 'ended'
    })
    called.catch(() => {})
    await settle()
    mock.timers.tick(limitMs - 1)
    await settle()
    t.equal(outcome, 'waits', name)
    mock.timers.tick(1)
    await t.rejects(called, late, name)
    t.strictSame(
      signals.map(({ aborted }) => aborted),
      [true],
    )
    await backend.close()
    t.ok(driver.isClosed, `the close does not wait for ${name}`)
  }
  const { backend } = silentBackend('stat')
  const probed = backend.probe(new AbortController().signal)
  await settle()
  mock.timers.tick(limitMs)
  await t.rejects(probed, late, 'the default probe')
})

test('an end of the client or of the backend ends a call of a driver that listens', async (t) => {
  const driver = new PaperDriver()
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  const backend = createStorageBackend(
    Object.assign(driver, {
      stat: (_path: string, { signal }: { signal: AbortSignal }) => untilAborted(signal),
      list: (_path: string, { signal }: { signal: AbortSignal }) => ({
        [Symbol.asyncIterator]: () => ({ next: () => untilAborted(signal) }),
      }),
    }),
  )
  const client = new AbortController()
  const { signal } = client
  const left = [backend.stat('/', { signal }), Array.fromAsync(backend.list('/', { signal }))]
  const closed = [backend.stat('/'), Array.fromAsync(backend.list('/'))]
  await settle()
  client.abort(new Error('The client left.'))
  for (const call of left as Promise<unknown>[]) await t.rejects(call, { message: 'The client left.' })
  await backend.close()
  for (const call of closed as Promise<unknown>[])
    await t.rejects(call, { code: 'SERVICE_UNAVAILABLE', message: /closed/ })
})

test('a read that stops in the middle fails after 30 s, and a reader may take any time', async (t) => {
  useClock(t)
  const driver = new PaperDriver()
  let isClosed = false
  driver.put('/file', Buffer.alloc(20))
  async function* content() {
    try {
      yield Buffer.alloc(10)
      await new Promise(() => {})
    } finally {
      isClosed = true
    }
  }
  const open: PaperDriver['open'] = async (path) => ({ entry: await driver.stat(path), content: content() })
  const backend = createStorageBackend(Object.assign(driver, { open }))
  const reading = (await backend.read('/file')).content[Symbol.asyncIterator]()
  await reading.next()
  mock.timers.tick(10 * limitMs)
  const next = reading.next()
  next.catch(() => {})
  await settle()
  mock.timers.tick(limitMs)
  await t.rejects(next, late)
  t.notOk(isClosed, 'nobody waits for a storage that is silent')
})

test('the wait for an upload and for the journal does not count, and the last step has time by size', async (t) => {
  useClock(t)
  const driver = new PaperDriver()
  const committed = Promise.withResolvers<void>()
  const commit = async (path: string, bytes: Buffer, options: StorageDriverWriteOptions) => {
    await options.beforeCommit({ revision: '1' })
    await committed.promise
    driver.put(path, bytes)
    return driver.stat(path)
  }
  const backend = createStorageBackend(Object.assign(driver, { supports: {}, commit }))
  const upload = Promise.withResolvers<void>()
  const journal = Promise.withResolvers<void>()
  async function* slow() {
    yield Buffer.alloc(1024 * 1024)
    await upload.promise
    yield Buffer.alloc(29 * 1024 * 1024)
  }
  const written = backend.write('/file', slow(), { beforeCommit: () => journal.promise })
  await settle()
  mock.timers.tick(10 * limitMs)
  upload.resolve()
  await settle()
  mock.timers.tick(10 * limitMs)
  journal.resolve()
  await settle()
  // 30 s, and 30 s more for 30 MiB.
  mock.timers.tick(2 * limitMs)
  committed.resolve()
  t.equal((await written).size, 30 * 1024 * 1024)
})

test('the copy that keeps a large file has time by its size, however small the file is that replaces it', async (t) => {
  useClock(t)
  const driver = new PaperDriver()
  const copied = Promise.withResolvers<void>()
  const copy: PaperDriver['copy'] = async (...call) => {
    await copied.promise
    return PaperDriver.prototype.copy.apply(driver, call)
  }
  const backend = createStorageBackend(Object.assign(driver, { supports: {}, copy }))
  driver.put('/file', Buffer.alloc(30 * 1024 * 1024), 'old')
  const written = backend.write('/file', chunks(Buffer.from('x')), { keepReplacedAt: '/kept' })
  await settle()
  mock.timers.tick(2 * limitMs)
  copied.resolve()
  await written
  t.equal((await backend.stat('/kept')).revision, 'old')
})

test('a write that was given up commits nothing later', async (t) => {
  useClock(t)
  const driver = new PaperDriver()
  const isAwake = Promise.withResolvers<void>()
  const later = Promise.withResolvers<unknown>()
  const commit = async (path: string, bytes: Buffer, options: StorageDriverWriteOptions) => {
    await isAwake.promise
    await options.beforeCommit({ revision: '1' }).catch((error) => {
      later.resolve(error)
      throw error
    })
    driver.put(path, bytes)
    return driver.stat(path)
  }
  const backend = createStorageBackend(Object.assign(driver, { commit }))
  let begun = false
  const beforeCommit = async () => {
    begun = true
  }
  const written = backend.write('/file', chunks(Buffer.from('x')), { beforeCommit })
  written.catch(() => {})
  await settle()
  mock.timers.tick(limitMs + 1)
  await t.rejects(written, late)
  isAwake.resolve()
  t.match(await later.promise, late)
  t.notOk(begun)
  t.notOk(driver.files.has('/file'))
})

test('a removal of a folder in one step may take any time', async (t) => {
  useClock(t)
  const driver = new PaperDriver()
  const removed = Promise.withResolvers<void>()
  const backend = createStorageBackend(
    Object.assign(driver, {
      supports: { atomicFolders: true, atomicConditions: true },
      remove: () => removed.promise,
    }),
  )
  const removal = backend.remove('/folder')
  await settle()
  mock.timers.tick(100 * limitMs)
  removed.resolve()
  await t.resolves(removal)
})

test('a removal of many entries goes on as long as it makes progress', async (t) => {
  useClock(t)
  const driver = new PaperDriver()
  driver.put('/folder', null)
  const steps = [1, 2, 3].map(() => Promise.withResolvers<void>())
  let progress = () => {}
  const remove = async (_path: string, options: { readonly progress: () => void }) => {
    progress = options.progress
    for (const { promise } of steps) {
      await promise
      progress()
    }
  }
  const backend = createStorageBackend(Object.assign(driver, { supports: {}, remove }))
  const called = backend.remove('/folder')
  for (const { resolve } of steps) {
    await settle()
    mock.timers.tick(limitMs - 1)
    resolve()
  }
  await t.resolves(called)
  progress()
  mock.timers.tick(limitMs)
})
