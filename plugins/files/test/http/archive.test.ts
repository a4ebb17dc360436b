import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import {
  createStorageBackend,
  definePlugin,
  Files,
  StorageBackends,
  type StorageDriver,
} from '@nodekeep/plugin-sdk'
import { unzipSync } from 'fflate'
import t, { type Test } from 'tap'
import { archiveRoutes } from '../../src/http/archive-route.ts'
import { countingBackend } from '../fixtures/counting-backend.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { openFiles, untilEmpty } from '../fixtures/leftovers.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

async function contentOf(user: TestUser, path: string): Promise<Record<string, string>> {
  return unzipped(await get(user, 'api/files/archive', path))
}

async function unzipped(answer: Response): Promise<Record<string, string>> {
  t.equal(answer.headers.get('content-type'), 'application/zip')
  const unpacked = unzipSync(new Uint8Array(await answer.arrayBuffer()))
  return Object.fromEntries(
    Object.entries(unpacked).map(([name, bytes]) => [name, String(Buffer.from(bytes))]),
  )
}

t.test('an archive has everything that is in a folder', async (t) => {
  const node = await createFilesNode({ mounts: { '/photos/mounted': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/photos/Grüße 😀.txt', 'good morning', { 'x-oc-mtime': '981173106' })
  await put(ada, '/photos/2026/january/a', 'a')
  await put(ada, '/photos/2026/b', '')
  await put(ada, '/photos/mounted/c', 'c')
  await ada.fetch('/mkdir', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"path":"/photos/empty"}',
  })
  await put(ada, '/other', 'other')

  const photos = {
    'photos/': '',
    'photos/2026/': '',
    'photos/2026/b': '',
    'photos/2026/january/': '',
    'photos/2026/january/a': 'a',
    'photos/Grüße 😀.txt': 'good morning',
    'photos/empty/': '',
    'photos/mounted/': '',
    'photos/mounted/c': 'c',
  }
  t.same(await contentOf(ada, '/photos'), photos)
  t.same(await contentOf(ada, '/'), { ...photos, other: 'other' })
  const disposition = (await get(ada, 'api/files/archive', '/photos')).headers.get('content-disposition')
  t.equal(disposition, 'attachment; filename=photos.zip')
  const january = await get(ada, 'api/files/archive', '/photos/2026/january')
  const bytes = Buffer.from(await january.arrayBuffer())
  t.ok(bytes.includes('january/a'))
  t.notOk(bytes.includes('photos'), 'the folders above do not appear')

  t.match(await get(ada, 'api/files/archive', '/other'), { status: 400 })
  t.match(await get(ada, 'api/files/archive', '/none'), { status: 404 })
  t.same(
    await contentOf(await node.signIn(), '/photos'),
    { 'photos/': '', 'photos/mounted/': '' },
    'each user has own files',
  )
})

t.test('an archive of a selection has each entry once, below the folder that they share', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const odd = 'a "b"+&=\n%\ud83d\ude00.txt'
  const texts = { '/trip/day 1/a': '1', '/trip/day 2/a': '2', '/trip/day 2/deep/b': 'b', '/trip/c': 'c' }
  for (const [path, text] of Object.entries({ ...texts, '/day 1': 'x', [`/trip/${odd}`]: 'odd' }))
    t.equal((await put(ada, path, text)).status, 200)
  await post(ada, 'mkdir', { path: '/trip/empty' })
  const select = (...paths: string[]) => post(ada, 'api/files/archive', { paths })
  const selectByForm = (paths: unknown) =>
    ada.fetch('/api/files/archive', {
      method: 'POST',
      body: new URLSearchParams({ paths: typeof paths === 'string' ? paths : JSON.stringify(paths) }),
    })

  const some = [
    '/trip/day 1/a',
    '/trip/day 2',
    '/trip/day 2/deep/b',
    '/trip/day 2',
    '/trip/empty',
    `/trip/${odd}`,
  ]
  const expected = {
    'day 1/a': '1',
    'day 2/': '',
    'day 2/a': '2',
    'day 2/deep/': '',
    'day 2/deep/b': 'b',
    'empty/': '',
    [odd]: 'odd',
  }
  const answer = await select(...some)
  t.equal(answer.headers.get('content-disposition'), 'attachment; filename=trip.zip')
  t.strictSame(await unzipped(answer), expected)
  t.strictSame(await unzipped(await selectByForm(some)), expected, 'a form has the same answer')

  t.strictSame(await unzipped(await select('/trip/day 1/a', '/day 1')), { 'trip/day 1/a': '1', 'day 1': 'x' })
  const root = await select('/trip/c', '/')
  t.equal(root.headers.get('content-disposition'), 'attachment; filename=files.zip')
  t.match(await unzipped(root), { 'trip/': '', 'trip/c': 'c', 'trip/day 1/a': '1', 'day 1': 'x' })
  const one = await select('/trip/c')
  t.equal(one.headers.get('content-disposition'), 'attachment; filename=c.zip')
  t.strictSame(await unzipped(one), { c: 'c' })

  t.match(await select('/trip/c', '/none'), { status: 404 })
  t.match(await select(), { status: 400 })
  const many = await select(...Array.from({ length: 10_001 }, (_, n) => `/${n}`))
  t.match(await many.json(), { code: 'PAYLOAD_TOO_LARGE', message: /at most 10,000 files and folders/ })
  const long = Array.from({ length: 10_000 }, (_, n) => `/${'\u00e9'.repeat(100)} ${n}`)
  t.match(await selectByForm(long), { status: 404 }, 'a form of 6 MB is read')
  for (const paths of ['', '["/a"', '"/trip/c"', '[1]', '[]'])
    t.match(await (await selectByForm(paths)).json(), { code: 'VALIDATION_ERROR' }, paths)
  for (const body of ['paths=%5B%22/%ff%22%5D', Buffer.from('paths=["/\xff"]', 'latin1'), 'path=/trip/c']) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    t.match(await ada.fetch('/api/files/archive', { method: 'POST', headers, body }), { status: 400 })
  }
  t.strictSame(await unzipped(await (await node.signIn()).fetch('/api/files/archive?path=/')), {})
})

t.test('times that a ZIP archive cannot tell become the nearest ones that it can', async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const [name, time] of [
    ['a', '1913-06-01T00:00:00Z'],
    ['b', '1970-01-01T00:00:00Z'],
    ['c', '2001-02-03T04:05:06Z'],
  ] as const)
    await put(ada, `/memory/${name}`, 'x', { 'x-oc-mtime': String(Date.parse(time) / 1000) })
  const answer = await get(ada, 'api/files/archive', '/memory')
  const times = timesIn(Buffer.from(await answer.arrayBuffer()))
  t.strictSame(times['memory/a'], new Date(1980, 0, 1))
  t.strictSame(times['memory/b'], new Date(1980, 0, 1))
  t.strictSame(times['memory/c'], new Date('2001-02-03T04:05:06Z'))
})

/** Reads the local times in the index of an archive (APPNOTE.TXT, section 4.3.12). */
function timesIn(archive: Buffer): Record<string, Date> {
  const times: Record<string, Date> = {}
  for (let at = archive.indexOf('PK\x01\x02'); at >= 0; at = archive.indexOf('PK\x01\x02', at + 1)) {
    const [time, date, nameBytes] = [12, 14, 28].map((offset) =>
      archive.readUInt16LE(at + offset),
    ) as number[]
    const name = archive.toString('utf8', at + 46, at + 46 + (nameBytes ?? 0))
    const [day = 0, clock = 0] = [date, time]
    times[name] = new Date(
      1980 + (day >> 9),
      ((day >> 5) & 15) - 1,
      day & 31,
      clock >> 11,
      (clock >> 5) & 63,
      2 * (clock & 31),
    )
  }
  return times
}

t.test('a client that leaves in the middle of an archive leaves nothing open', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const megabyte = 1024 * 1024
  const bytes = randomBytes(20 * megabyte)
  for (const name of ['a', 'b']) await put(ada, `/large/${name}`, bytes)
  await mkdir(join(node.dataFolder, 'files', ada.user.uuid, 'large/c'))
  for (const received of [0, 1, megabyte, 21 * megabyte]) {
    const connection = await openRaw(node)
    await connection.send(requestHead(ada, 'GET /api/files/archive?path=/large', {}))
    await connection.received(received)
    connection.socket.destroy()
  }
  t.strictSame(await untilEmpty(() => openFiles(node)), [])
  const archive = await get(ada, 'api/files/archive', '/large')
  const unpacked = unzipSync(new Uint8Array(await archive.arrayBuffer()))
  for (const name of ['a', 'b']) t.ok(bytes.equals(unpacked[`large/${name}`] ?? Buffer.of()), name)
})

t.test('too many entries are refused before the archive begins', async (t) => {
  const modified = new Date()
  const crowded = definePlugin({
    id: 'crowded-backend',
    contributes: { backends: StorageBackends },
    setup({ backends }) {
      const folder = {
        name: '',
        type: 'directory',
        size: 0,
        modified,
        created: modified,
        revision: '',
      } as const
      const never = async () => {
        throw new Error('No archive is made of so many entries.')
      }
      const driver: StorageDriver = {
        supports: {},
        open: never,
        write: never,
        makeDirectory: never,
        remove: never,
        stat: async () => folder,
        async *list(path) {
          if (/\/\d{6}$/.test(path)) return
          for (let n = 0; n <= 100_000; n += 1) yield { ...folder, name: `${n}`.padStart(6, '0') }
        },
        close: async () => {},
      }
      backends.add('crowded', createStorageBackend(driver))
    },
  })
  const node = await createFilesNode({ mounts: { '/c': 'crowded' } }, { plugins: [crowded] })
  t.teardown(() => node.stop())
  const answer = await get(await node.signIn(), 'api/files/archive', '/c')
  t.match(await answer.json(), { code: 'PAYLOAD_TOO_LARGE', message: /more than 100,000 files and folders/ })
})

t.test('a user has eight archives at a time', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(ada, '/folder/large', Buffer.alloc(8 * 1024 * 1024))
  await put(bob, '/folder/small', 'x')
  const archives = await Promise.all(
    Array.from({ length: 8 }, () => get(ada, 'api/files/archive', '/folder')),
  )
  const refused = await get(ada, 'api/files/archive', '/folder')
  t.equal(refused.headers.get('retry-after'), '10')
  t.match(await refused.json(), { code: 'TOO_MANY_REQUESTS', message: /8 archives already/ })
  t.equal((await get(bob, 'api/files/archive', '/folder')).status, 200, 'others are not held up')
  await archives[0]?.body?.cancel()
  const rest = await untilEmpty(async () => {
    const again = await get(ada, 'api/files/archive', '/folder')
    await again.body?.cancel()
    return again.status === 200 ? [] : ['refused']
  })
  t.same(rest, [], 'one that ends makes room')
  for (const archive of archives.slice(1)) await archive.body?.cancel()
})

t.test('large selections share a bound of memory, and small ones are taken beside them', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const path = `/${`${'a'.repeat(250)}/`.repeat(3)}large`
  for (const user of [ada, bob]) await put(user, path, Buffer.alloc(8 * 1024 * 1024))
  const select = (user: TestUser, count: number) =>
    post(user, 'api/files/archive', { paths: Array.from({ length: count }, () => path) })
  const unread = await select(ada, 10_000)
  t.equal(unread.status, 200)
  const refused = await select(bob, 10_000)
  t.equal(refused.headers.get('retry-after'), '10')
  t.match(await refused.json(), { code: 'TOO_MANY_REQUESTS', message: /too many selected files/ })
  t.equal((await select(bob, 25)).status, 200)
  await unread.body?.cancel()
  const taken = await untilEmpty(async () => ((await select(bob, 10_000)).status === 200 ? [] : ['refused']))
  t.strictSame(taken, [])
})

/**
 * A node with archives at `/bounded`, too, whose memory is enough for two folders of one file. Files in `/slow` are read when the test
 * lets them.
 */
async function boundedNode(t: Test) {
  const slow = countingBackend()
  const { promise, resolve: letRead } = Promise.withResolvers<void>()
  slow.beforeRead = () => promise
  const bounded = definePlugin({
    id: 'bounded-archives',
    requires: { files: Files },
    setup({ files, routes }) {
      const bounds = { most: 2700, small: 0, stalledMs: 200 }
      routes(async (app) => {
        await app.register(async (inner) => archiveRoutes(inner, files, bounds), { prefix: '/bounded' })
      })
    },
  })
  const node = await createFilesNode({ mounts: { '/slow': 'counting' } }, { plugins: [slow.plugin, bounded] })
  t.teardown(() => node.stop())
  const archive = (user: TestUser, path: string) => get(user, 'bounded/api/files/archive', path)
  return { node, archive, letRead }
}

t.test('an archive whose client takes nothing is broken off when another one needs its memory', async (t) => {
  const { node, archive } = await boundedNode(t)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(ada, '/folder/large', Buffer.alloc(8 * 1024 * 1024))
  await put(bob, '/folder/b', 'x')
  const unread = [await archive(ada, '/folder'), await archive(ada, '/folder')]
  let answer = await archive(bob, '/folder')
  // Those that are not read take more time to stall while the machine is busy.
  while (answer.status === 429) answer = await archive(bob, '/folder')
  t.strictSame(await unzipped(answer), { 'folder/': '', 'folder/b': 'x' })
  const ends = await Promise.allSettled(unread.map((answer) => answer.arrayBuffer()))
  const broken = ends.filter(({ status }) => status === 'rejected')
  t.equal(broken.length, 1, 'no more are broken off than needed')
})

t.test('an archive whose client waits for the storage is not broken off for others', async (t) => {
  const { node, archive, letRead } = await boundedNode(t)
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  await put(ada, '/slow/folder/a', 'x')
  await put(bob, '/folder/b', 'x')
  const reading = [await archive(ada, '/slow/folder'), await archive(ada, '/slow/folder')]
  const refused = await archive(bob, '/folder')
  t.equal(refused.headers.get('retry-after'), '10')
  t.match(await refused.json(), { code: 'TOO_MANY_REQUESTS', message: /too many files and folders already/ })

  letRead()
  for (const answer of reading) t.strictSame(await unzipped(answer), { 'folder/': '', 'folder/a': 'x' })
})

t.test('the memory of an archive is bounded by the names in it, also while its folder grows', async (t) => {
  const { node, archive, letRead } = await boundedNode(t)
  const ada = await node.signIn()
  for (const name of 'abcde') await put(ada, `/many/${name}`, name)
  t.match(await (await archive(ada, '/many')).json(), {
    code: 'PAYLOAD_TOO_LARGE',
    message: /too long for one archive/,
  })

  // The second file is looked at when the first one was read.
  for (const name of 'ab') await put(ada, `/slow/folder/${name}`, Buffer.alloc(600 * 1024))
  await put(ada, '/slow/folder/later/a', 'x')
  const grown = await archive(ada, '/slow/folder')
  t.equal(grown.status, 200)
  for (const name of 'bcde') await put(ada, `/slow/folder/later/${name}`, 'x')
  letRead()
  await t.rejects(grown.arrayBuffer())
})
