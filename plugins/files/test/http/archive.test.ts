import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import { createStorageBackend, definePlugin, StorageBackends, type StorageDriver } from '@nodekeep/plugin-sdk'
import { unzipSync } from 'fflate'
import t from 'tap'
import { createFilesNode, get, put } from '../fixtures/files-node.ts'
import { openFiles, untilEmpty } from '../fixtures/leftovers.ts'
import { openRaw, requestHead } from '../fixtures/raw-http.ts'

async function contentOf(user: TestUser, path: string): Promise<Record<string, string>> {
  const answer = await get(user, 'api/files/archive', path)
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
  t.same(await contentOf(ada, '/'), { ...photos, 'photos/': '', other: 'other' })
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
    { 'photos/mounted/': '' },
    'each user has own files',
  )
})

t.test('a client that leaves in the middle of an archive leaves nothing open', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const megabyte = 1024 * 1024
  for (const name of ['a', 'b']) await put(ada, `/large/${name}`, Buffer.alloc(20 * megabyte, name))
  await mkdir(join(node.dataFolder, 'files', ada.user.uuid, 'large/c'))
  for (const bytes of [0, 1, megabyte, 21 * megabyte]) {
    const connection = await openRaw(node)
    await connection.send(requestHead(ada, 'GET /api/files/archive?path=/large', {}))
    await connection.received(bytes)
    connection.socket.destroy()
  }
  t.strictSame(await untilEmpty(() => openFiles(node)), [])
  t.equal((await contentOf(ada, '/large'))['large/b']?.length, 20 * megabyte)
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
      const driver: Partial<StorageDriver> = {
        supports: {} as StorageDriver['supports'],
        stat: async () => folder,
        async *list(path) {
          if (/\/\d{6}$/.test(path)) return
          for (let n = 0; n <= 100_000; n += 1) yield { ...folder, name: `${n}`.padStart(6, '0') }
        },
        close: async () => {},
      }
      backends.add('crowded', createStorageBackend(driver as StorageDriver))
    },
  })
  const node = await createFilesNode({ mounts: { '/c': 'crowded' } }, { plugins: [crowded] })
  t.teardown(() => node.stop())
  const answer = await get(await node.signIn(), 'api/files/archive', '/c')
  t.match(await answer.json(), { code: 'PAYLOAD_TOO_LARGE', message: /more than 100,000 files and folders/ })
})
