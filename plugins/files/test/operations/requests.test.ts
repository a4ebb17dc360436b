import { Readable } from 'node:stream'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import { unzipSync } from 'fflate'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { type CountingBackend, countingBackend } from '../fixtures/counting-backend.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'

for (const listsRevisions of [true, false]) {
  t.test(
    `no request asks a storage for the same thing twice, listings ${listsRevisions ? 'with' : 'without'} revisions`,
    async (t) => {
      const counting = countingBackend({}, { listsRevisions })
      const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins: [counting.plugin] })
      t.teardown(() => node.stop())
      const ada = await node.signIn()
      await put(ada, '/folder/0', 'x')
      for (let file = 1; file < 100; file += 1) await put(ada, `/folder/${file}`, 'x')
      await post(ada, 'mkdir', { path: '/there' })

      const most = async (limit: number, what: string, request: () => Promise<Response>) => {
        const counts = await counting.count(async () => t.equal((await request()).status, 200, what))
        t.ok((counts.all ?? 0) <= limit, `${what}: ${JSON.stringify(counts)}, at most ${limit}`)
      }
      await most(5, 'write a new file', () => put(ada, '/folder/new', 'x'))
      await most(4, 'overwrite a file, of which a copy is kept', () => put(ada, '/folder/new', 'y'))
      await most(9, 'move a file', () =>
        post(ada, 'move', { source: '/folder/new', destination: '/there/new' }),
      )
      await most(6, 'copy a file', () =>
        post(ada, 'api/files/copy', { source: '/there/new', destination: '/there/copy' }),
      )
      await most(4, 'delete a file', () => post(ada, 'delete', { path: '/there/copy' }))
      await most(1, 'list a folder', () => ada.fetch('/readdir?path=/folder'))
      await most(450, 'move a folder of 100', () =>
        post(ada, 'move', { source: '/folder', destination: '/moved' }),
      )
      await most(220, 'copy a folder of 100', () =>
        post(ada, 'api/files/copy', { source: '/moved', destination: '/copy' }),
      )
      await most(310, 'delete a folder of 100: each file is copied into the trash', () =>
        post(ada, 'delete', { path: '/moved' }),
      )
      for (let folder = 0; folder < 10; folder += 1) await post(ada, 'mkdir', { path: `/nested/${folder}` })
      await most(36, 'copy a folder of 10 empty folders', () =>
        post(ada, 'api/files/copy', { source: '/nested', destination: '/there/nested' }),
      )
    },
  )
}

t.test('a storage that checks conditions itself is asked once more for a new file', async (t) => {
  const counting = countingBackend({ atomicConditions: true })
  const services = captureServices()
  const plugins = [counting.plugin, services.plugin]
  const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/folder/first', 'x')
  await services.untilIndexed(ada)
  const counts = await counting.count(() => put(ada, '/folder/new', 'x'))
  t.strictSame(counts, { write: 1, all: 1 })
})

t.test('if listings tell no revisions, only the requests that need them ask for them', async (t) => {
  const counting = countingBackend({}, { listsRevisions: false })
  const services = captureServices()
  const plugins = [counting.plugin, services.plugin]
  const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const memory = services.backends.get('memory') as StorageBackend
  const names = Array.from({ length: 1000 }, (_, index) => `${1000 + index}`)
  for (const name of names)
    await memory.write(`/${ada.user.uuid}/folder/${name}`, Readable.from([Buffer.from(name)]))
  await put(ada, '/folder/1000', 'overwritten')
  await services.untilIndexed(ada)

  let listed: unknown[] = []
  const readdir = await counting.count(async () => {
    listed = (await (await get(ada, 'readdir', '/folder')).json()) as unknown[]
  })
  t.strictSame([readdir, listed.length], [{ list: 1, all: 1 }, 1000])

  const page = async (cursor = '') => {
    const answer = await ada.fetch(`/api/files/list?path=/folder&limit=100${cursor}`)
    return (await answer.json()) as { entries: Record<string, unknown>[]; cursor: string }
  }
  let first: Awaited<ReturnType<typeof page>> | undefined
  const ofPage = await counting.count(async () => {
    first = await page()
  })
  t.strictSame(ofPage, { list: 1, stat: 100, all: 101 }, 'only the files of the page are looked up')
  t.ok(counting.runningStats > 1 && counting.runningStats <= 16, `${counting.runningStats} at a time`)
  t.strictSame(
    first?.entries.map(({ name }) => name),
    names.slice(0, 100),
  )
  const stat = await get(ada, 'stat', '/folder/1000')
  const { created, modified } = (await stat.json()) as Record<string, unknown>
  const revision = stat.headers.get('etag')?.slice(1, -1)
  t.strictSame(first?.entries[0], { name: '1000', type: 'file', size: 11, revision, modified, created })

  counting.beforeStat = async (path) => {
    counting.beforeStat = async () => {}
    await memory.remove(path)
    await memory.remove(path.replace(/\d+$/, '1199'))
  }
  const second = await page(`&cursor=${first?.cursor}`)
  t.strictSame(
    second.entries.map(({ name }) => name),
    names.slice(101, 199),
    'files that are gone when they are looked up are left out',
  )
  t.equal((await page(`&cursor=${second.cursor}`)).entries[0]?.name, '1200')
})

t.test('a folder that is moved file by file is recorded with revisions that no listing told', async (t) => {
  const counting = countingBackend({}, { listsRevisions: false, moves: true })
  const services = captureServices()
  const plugins = [counting.plugin, services.plugin]
  const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const name of ['a', 'b']) await put(ada, `/folder/${name}`, name)
  const revisionOf = async (path: string) => (await services.files.for(ada.user).stat(path)).revision
  const revisions = [await revisionOf('/folder/a'), await revisionOf('/folder/b')]
  await post(ada, 'move', { source: '/folder', destination: '/moved' })
  const moves = (await services.recorded(ada.user.uuid)).filter(({ op }) => op === 'move')
  t.strictSame(moves.map(({ path, revision }) => [path, revision]).sort(), [
    ['/moved/a', revisions[0]],
    ['/moved/b', revisions[1]],
  ])
  t.strictSame([await revisionOf('/moved/a'), await revisionOf('/moved/b')], revisions)
})

t.test('an archive reads eight small files at a time, in their order', async (t) => {
  const counting = countingBackend({}, { listsRevisions: false })
  const services = captureServices()
  const plugins = [counting.plugin, services.plugin]
  const node = await createFilesNode({ mounts: { '/': 'counting' } }, { plugins })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const held = holdReads(counting)

  t.test('a folder of 100 takes the time of 13 requests', async (t) => {
    const texts = Array.from({ length: 100 }, (_, index) => [`many/${100 + index}`, `text ${index}`] as const)
    await Promise.all(texts.map(([path, text]) => put(ada, `/${path}`, text)))
    await services.untilIndexed(ada)
    const counts = counting.count(async () => {
      const answer = get(ada, 'api/files/archive', '/many').then((answer) => answer.arrayBuffer())
      let rounds = 0
      for (let left = texts.length; left > 0; left -= 8, rounds += 1)
        for (const { go } of await held.until(Math.min(8, left))) go()
      t.equal(rounds, 13)
      const entries = Object.entries(unzipSync(new Uint8Array(await answer)))
      t.strictSame(
        entries.map(([name, bytes]) => [name, Buffer.from(bytes).toString()]),
        [['many/', ''], ...texts],
      )
    })
    t.strictSame(await counts, { stat: 1, list: 2, read: 100, all: 103 })
    t.ok(held.most <= 8 && counting.openReadings <= 8, `${held.most} and ${counting.openReadings}`)
  })

  t.test('a large file is opened at its turn, and small ones after it are read meanwhile', async (t) => {
    const sizes = { a: 10, b: 600_000, c: 300_000, d: 300_000, e: 10 }
    for (const [name, size] of Object.entries(sizes))
      await put(ada, `/mixed/${name}`, Buffer.alloc(size, name))
    const answer = get(ada, 'api/files/archive', '/mixed').then((answer) => answer.arrayBuffer())
    const opened: string[][] = []
    for (const count of [1, 2, 2]) {
      const reads = await held.until(count)
      opened.push(reads.map(({ name }) => name))
      for (const { go } of reads) go()
    }
    t.strictSame(opened, [['a'], ['b', 'c'], ['d', 'e']])
    const found = unzipSync(new Uint8Array(await answer))
    for (const [name, size] of Object.entries(sizes))
      t.ok(Buffer.alloc(size, name).equals(found[`mixed/${name}`] ?? Buffer.alloc(0)), name)
  })

  t.test('the readings end when the client leaves, and when a file fails', async (t) => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => put(ada, `/left/${100 + index}`, 'x')))
    const leaving = new AbortController()
    const { signal } = leaving
    const answer = get(ada, 'api/files/archive', '/left', { signal }).catch(() => null)
    const reads = await held.until(8)
    leaving.abort()
    await Promise.all(reads.map(({ ended }) => ended))
    await answer
    t.equal(held.waiting, 0)

    const broken = get(ada, 'api/files/archive', '/left').then((answer) => answer.arrayBuffer())
    const [first, ...others] = await held.until(8)
    first?.fail()
    await t.rejects(broken)
    await Promise.all(others.map(({ ended }) => ended))
    t.equal(held.waiting, 0, 'no further file is opened')
  })
  t.end()
})

/** Holds each reading up until the test lets it go on or fail, or its signal aborts. */
function holdReads(counting: CountingBackend) {
  interface Held {
    readonly name: string
    go(): void
    fail(): void
    /** Resolves when the signal of the call aborts. */
    readonly ended: Promise<void>
  }
  const waiting = new Set<Held>()
  let arrived = Promise.withResolvers<void>()
  const reads = {
    /** The most that waited at a time. */
    most: 0,
    get waiting() {
      return waiting.size
    },
    /** Waits until a number of readings wait. */
    async until(count: number): Promise<Held[]> {
      while (waiting.size < count) await arrived.promise
      return [...waiting]
    },
  }
  counting.beforeRead = async (name, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const ended = Promise.withResolvers<void>()
    const held: Held = {
      name,
      go() {
        waiting.delete(held)
        resolve()
      },
      fail() {
        waiting.delete(held)
        reject(new Error('The store fails.'))
      },
      ended: ended.promise,
    }
    signal.addEventListener('abort', () => {
      waiting.delete(held)
      ended.resolve()
      reject(signal.reason)
    })
    waiting.add(held)
    reads.most = Math.max(reads.most, waiting.size)
    arrived.resolve()
    arrived = Promise.withResolvers()
    await promise
  }
  return reads
}
