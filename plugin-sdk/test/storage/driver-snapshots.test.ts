import { setImmediate } from 'node:timers/promises'
import {
  createStorageBackend,
  type PreparedSnapshot,
  type StorageBackend,
  type StorageDriverCopyOptions,
  type StorageDriverSnapshot,
} from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { backendWith, chunks, PaperDriver } from './fixtures/paper-driver.ts'

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

test('changes go on when `snapshot` fails, and a snapshot that nobody gets is released', async (t) => {
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
  t.equal(released, 1)
  for (const backend of [failing, counting]) {
    await backend.makeDirectory('/made')
    await backend.write('/file', chunks(Buffer.from('x')))
    await backend.copy?.('/file', '/copy')
    await backend.move('/file', '/moved')
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
  const taking = snapshotOf(backend, async () => void steps.push('moment'))
  await setImmediate()
  t.strictSame(steps, [])
  commit.resolve()
  const snapshot = await taking
  await Promise.all(changing)
  t.equal(steps.at(-1), 'moment')
  t.strictSame(
    (await Array.fromAsync(snapshot?.list('/') ?? [])).map(({ name }) => name),
    ['copy', 'file', 'source'],
  )
  content.resolve()
  await slowly
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
    const backend = backendWith({ snapshot: async () => ({ ...(await driver.snapshot()), ...told }) })
    const snapshot = await snapshotOf(backend)
    t.strictSame(snapshot?.omitted, told.omitted ?? [])
    t.strictSame(snapshot?.changed, told.changed ?? [])
    await backend.close()
  }
})
