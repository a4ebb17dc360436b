import {
  createStorageBackend,
  type PreparedSnapshot,
  type StorageBackend,
  type StorageDriverSnapshot,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { backendWith, PaperDriver } from './fixtures/paper-driver.ts'

async function* chunks(...parts: Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* parts
}

const never = new AbortController().signal

async function snapshotOf(backend: StorageBackend, atMoment: () => Promise<void> = async () => {}) {
  return (await backend.prepareSnapshot?.(never))?.take(atMoment)
}

/** Makes the method of a driver that prepares nothing. */
function prepared(take: PreparedSnapshot<StorageDriverSnapshot>['take']) {
  return async () => ({ take, release: async () => {} })
}

test('a driver that does not call `atMoment` exactly once, or ignores its failure, makes no snapshot', async (t) => {
  const failure = new Error('no')
  for (const [calls, reason] of [
    [0, null],
    [2, null],
    [1, failure],
  ] as const) {
    let released = 0
    const driver = new PaperDriver()
    const backend = backendWith({
      prepareSnapshot: prepared(async (atMoment) => {
        for (let count = 0; count < calls; count += 1) await atMoment().catch(() => {})
        const release = async () => {
          released += 1
        }
        return {
          stat: (path) => driver.stat(path),
          list: (path) => driver.list(path),
          open: () => Promise.reject(),
          release,
        }
      }),
    })
    let called = 0
    const atMoment = async () => {
      called += 1
      if (reason !== null) throw reason
    }
    const outcome = await snapshotOf(backend, atMoment).catch((thrown) => thrown)
    if (reason === null) t.match(outcome, { code: 'SERVICE_UNAVAILABLE' })
    else t.equal(outcome, reason)
    t.equal(called, Math.min(calls, 1))
    t.equal(released, 1)
    await backend.close()
    t.equal(released, 1)
  }
})

test('a close ends a snapshot that waits for `atMoment`', async (t) => {
  const backend = createStorageBackend(new PaperDriver())
  const reached = Promise.withResolvers<void>()
  const atMoment = () => {
    reached.resolve()
    return new Promise<void>(() => {})
  }
  const making = snapshotOf(backend, atMoment).catch((thrown) => thrown)
  await reached.promise
  const waiting = backend.write('/file', chunks(Buffer.from('x'))).catch((thrown) => thrown)
  await backend.close()
  t.match(await making, { code: 'SERVICE_UNAVAILABLE' })
  t.match(await waiting, { code: 'SERVICE_UNAVAILABLE' })
})

test('a close gives up a prepared snapshot, and a failed `take` releases it once', async (t) => {
  let released = 0
  const prepareSnapshot = async () => ({
    take: () => Promise.reject(new Error('broken')),
    async release() {
      released += 1
    },
  })
  const backend = backendWith({ prepareSnapshot })
  const failing = await backend.prepareSnapshot?.(never)
  await t.rejects(async () => failing?.take(async () => {}), {
    code: 'SERVICE_UNAVAILABLE',
    cause: { message: 'broken' },
  })
  t.equal(released, 1)
  await failing?.release()
  t.equal(released, 1)
  const waiting = await backend.prepareSnapshot?.(never)
  await backend.close()
  t.equal(released, 2)
  await waiting?.release()
  t.equal(released, 2)
  await t.rejects(async () => waiting?.take(async () => {}), { code: 'SERVICE_UNAVAILABLE' })
})

test('a snapshot tells what its driver leaves out; nothing if the driver says nothing', async (t) => {
  const omitted = [{ what: '/link', why: 'It is a symbolic link.' }]
  for (const told of [{ omitted, changed: ['/log'] }, {}]) {
    const driver = new PaperDriver()
    const backend = backendWith({
      prepareSnapshot: prepared(async (atMoment) => ({ ...(await driver.take(atMoment, never)), ...told })),
    })
    const snapshot = await snapshotOf(backend)
    t.strictSame(snapshot?.omitted, told.omitted ?? [])
    t.strictSame(snapshot?.changed, told.changed ?? [])
    await backend.close()
  }
})
