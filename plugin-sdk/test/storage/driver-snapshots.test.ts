import { setImmediate } from 'node:timers/promises'
import {
  createStorageBackend,
  type StorageBackend,
  type StorageDriverCopyOptions,
  type StorageDriverSnapshot,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { backendWith, chunks, PaperDriver } from './fixtures/paper-driver.ts'

const never = new AbortController().signal

async function snapshotOf(backend: StorageBackend, whileHalted: () => Promise<void> = async () => {}) {
  const prepared = await backend.prepareSnapshot?.(never)
  try {
    await using halted = await prepared?.halt()
    await whileHalted()
    return await halted?.fix()
  } finally {
    await prepared?.release()
  }
}

test('a halt that ends while the state is fixed makes no snapshot, and what was made is released', async (t) => {
  for (const how of ['dispose', 'abort', 'close']) {
    let released = 0
    const driver = new PaperDriver()
    const [fixing, fixed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const backend = backendWith({
      async snapshot() {
        fixing.resolve()
        await fixed.promise
        const release = async () => {
          released += 1
        }
        return { ...(await driver.snapshot()), release }
      },
    })
    const left = new AbortController()
    const prepared = await backend.prepareSnapshot?.(left.signal)
    const halted = await prepared?.halt()
    const outcome = halted?.fix().catch((thrown) => thrown)
    await fixing.promise
    const change = backend.makeDirectory('/made').catch(() => {})
    let closing: Promise<void> | undefined
    if (how === 'dispose') await halted?.[Symbol.asyncDispose]()
    else if (how === 'abort') left.abort(new Error('left'))
    else closing = backend.close()
    await change
    fixed.resolve()
    const code = { dispose: 'CONFLICT', close: 'SERVICE_UNAVAILABLE' }[how]
    t.match(await outcome, code === undefined ? { message: 'left' } : { code }, how)
    t.equal(released, 1, how)
    await prepared?.release()
    await closing
    await backend.close()
    t.equal(released, 1, how)
  }
})

test('changes go on when `snapshot` fails, and after a halt without one', async (t) => {
  let released = 0
  const driver = new PaperDriver()
  const failing = backendWith({ snapshot: () => Promise.reject(new Error('broken')) })
  await t.rejects(snapshotOf(failing), { code: 'SERVICE_UNAVAILABLE', cause: { message: 'broken' } })
  const release = async () => {
    released += 1
  }
  const counting = backendWith({ snapshot: async () => ({ ...(await driver.snapshot()), release }) })
  const failure = new Error('no')
  t.equal(await snapshotOf(counting, () => Promise.reject(failure)).catch((thrown) => thrown), failure)
  await (await snapshotOf(counting))?.release()
  t.equal(released, 1)
  for (const backend of [failing, counting]) {
    await backend.makeDirectory('/made')
    await backend.write('/file', chunks(Buffer.from('x')))
    await backend.copy?.('/file', '/copy')
    await backend.move?.('/file', '/moved')
    await backend.remove('/moved')
    await backend.close()
  }
  t.equal(released, 1)
})

test('a snapshot waits for the last step of a write and of a copy, and not for their content', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(driver)
  await backend.write('/source', chunks(Buffer.from('x')))
  const content = Promise.withResolvers<void>()
  async function* slow(): AsyncIterable<Uint8Array> {
    yield Buffer.from('slow')
    await content.promise
  }
  const slowly = backend.write('/slow', slow())
  const steps: string[] = []
  const [committing, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let announced = 0
  const beforeCommit = async () => {
    announced += 1
    if (announced === 2) committing.resolve()
    await commit.promise
  }
  const changing = [
    backend.write('/file', chunks(Buffer.from('x')), { beforeCommit }).then(() => steps.push('written')),
    backend.copy?.('/source', '/copy', { beforeCommit }).then(() => steps.push('copied')),
  ]
  await committing.promise
  const taking = snapshotOf(backend, async () => void steps.push('halt'))
  await setImmediate()
  t.strictSame(steps, [])
  commit.resolve()
  const snapshot = await taking
  await Promise.all(changing)
  t.equal(steps.at(-1), 'halt')
  t.strictSame(
    (await Array.fromAsync(snapshot?.list('/') ?? [])).map(({ name }) => name),
    ['copy', 'file', 'source'],
  )
  content.resolve()
  await slowly
  await backend.close()
})

test('a snapshot tells what the listings of its driver leave out', async (t) => {
  const driver = new PaperDriver()
  driver.snapshot = async () => {
    const files: StorageDriverSnapshot = await PaperDriver.prototype.snapshot.call(driver)
    return {
      ...files,
      async *list(...call) {
        for await (const { created, revision, ...entry } of files.list(...call)) yield entry
      },
    }
  }
  const backend = createStorageBackend(driver)
  for (const path of ['/file', '/folder/file']) await backend.write(path, chunks(Buffer.from('x')))
  const snapshot = await snapshotOf(backend)
  for (const path of ['/', '/folder'])
    t.strictSame(await Array.fromAsync(snapshot?.list(path) ?? []), await Array.fromAsync(backend.list(path)))
  await snapshot?.release()
  await backend.close()
})

test('a driver that calls `beforeCommit` twice holds no later snapshot up', async (t) => {
  const driver = new PaperDriver()
  const backend = createStorageBackend(
    Object.assign(driver, {
      async announce({ beforeCommit }: StorageDriverCopyOptions, revision: string) {
        await Promise.all([beforeCommit({ revision }), beforeCommit({ revision })])
      },
    }),
  )
  await backend.write('/file', chunks(Buffer.from('x')))
  const snapshot = await snapshotOf(backend)
  t.ok(snapshot)
  await snapshot?.release()
  await backend.close()
})

test('a close ends a halt, and waits for its end', async (t) => {
  const ended = Promise.withResolvers<void>()
  const steps: string[] = []
  const backend = backendWith({
    prepareSnapshot: async () => ({
      halt: async () => ({
        fix: () => Promise.reject(new Error('broken')),
        async [Symbol.asyncDispose]() {
          await ended.promise
          steps.push('halt ended')
        },
      }),
      release: async () => void steps.push('released'),
    }),
    close: async () => void steps.push('closed'),
  })
  const prepared = await backend.prepareSnapshot?.(never)
  const halted = await prepared?.halt()
  const closing = backend.close()
  await setImmediate()
  t.strictSame(steps, [])
  ended.resolve()
  await closing
  t.strictSame(steps.sort(), ['closed', 'halt ended', 'released'])
  t.match(await halted?.fix().catch((thrown) => thrown), { code: 'SERVICE_UNAVAILABLE' })
  await halted?.[Symbol.asyncDispose]()
  await prepared?.release()
  t.equal(steps.length, 3)
})

test('changes that wait for a halt end with a close', async (t) => {
  const backend = createStorageBackend(new PaperDriver())
  const halted = await (await backend.prepareSnapshot?.(never))?.halt()
  const waiting = backend.write('/file', chunks(Buffer.from('x'))).catch((thrown) => thrown)
  await backend.close()
  t.match(await waiting, { code: 'SERVICE_UNAVAILABLE' })
  t.match(await halted?.fix().catch((thrown) => thrown), { code: 'SERVICE_UNAVAILABLE' })
})

test('a prepared snapshot is released once, by its holder or by a close, also after a failed halt', async (t) => {
  let released = 0
  const prepareSnapshot = async () => ({
    halt: () => Promise.reject(new Error('broken')),
    async release() {
      released += 1
    },
  })
  const backend = backendWith({ prepareSnapshot })
  const failing = await backend.prepareSnapshot?.(never)
  await t.rejects(async () => failing?.halt(), {
    code: 'SERVICE_UNAVAILABLE',
    cause: { message: 'broken' },
  })
  await failing?.release()
  t.equal(released, 1)
  await failing?.release()
  t.equal(released, 1)
  const waiting = await backend.prepareSnapshot?.(never)
  await backend.close()
  t.equal(released, 2)
  await waiting?.release()
  t.equal(released, 2)
  await t.rejects(async () => waiting?.halt(), { code: 'SERVICE_UNAVAILABLE' })
})

test('a snapshot tells what its driver leaves out; nothing if the driver says nothing', async (t) => {
  const omitted = [{ what: '/link', why: 'It is a symbolic link.' }]
  for (const told of [{ omitted, changed: ['/log'] }, {}]) {
    const driver = new PaperDriver()
    const backend = backendWith({ snapshot: async () => ({ ...(await driver.snapshot()), ...told }) })
    const snapshot = await snapshotOf(backend)
    t.strictSame(snapshot?.omitted, told.omitted ?? [])
    t.strictSame(snapshot?.changed, told.changed ?? [])
    await backend.close()
  }
})
