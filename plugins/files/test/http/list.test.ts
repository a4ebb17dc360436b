import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestUser } from '@nodekeep/kernel/testing'
import { definePlugin, type StorageBackend, StorageBackends } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'

interface Entry {
  readonly name: string
  readonly type: string
  readonly revision?: string
}

interface Page {
  readonly entries: readonly Entry[]
  readonly cursor: string | null
}

async function page(user: TestUser, path: string, query = ''): Promise<Page> {
  const answer = await user.fetch(`/api/files/list?path=${encodeURIComponent(path)}${query}`)
  if (answer.status !== 200) throw new Error(await answer.text())
  return (await answer.json()) as Page
}

async function allPages(user: TestUser, path: string, limit: number): Promise<Page[]> {
  const pages = [await page(user, path, `&limit=${limit}`)]
  for (let last = pages.at(-1); last?.cursor != null; last = pages.at(-1))
    pages.push(await page(user, path, `&limit=${limit}&cursor=${last.cursor}`))
  return pages
}

const namesOf = (pages: readonly Page[]) => pages.flatMap(({ entries }) => entries.map(({ name }) => name))

t.test('a folder is listed in pages, with the revisions of its files', async (t) => {
  const node = await createFilesNode({ mounts: { '/m': 'memory', '/docs/b/deep': 'unknown' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()

  t.test('an entry has exactly these fields', async (t) => {
    const etag = (await put(ada, '/docs/a', 'four')).headers.get('etag')
    await put(ada, '/docs/inner/x', 'x')
    const { entries, cursor } = await page(ada, '/docs')
    t.equal(cursor, null)
    const stat = (await (await get(ada, 'stat', '/docs/a')).json()) as Record<string, unknown>
    const { modified, created } = stat
    t.strictSame(entries[0], {
      name: 'a',
      type: 'file',
      size: 4,
      revision: etag?.slice(1, -1),
      modified,
      created,
    })
    t.strictSame(
      entries.map(({ name }) => name),
      ['a', 'b', 'inner'],
      'folders of mounts are in it',
    )
    t.strictSame(Object.keys(entries[2] as object), ['name', 'type', 'modified', 'created'])
    await put(ada, '/docs/a', 'again')
    t.match(
      (await page(ada, '/docs')).entries[0],
      { created },
      'the journal knows the date of an overwritten file',
    )
  })

  t.test('pages hold every entry once, in the order of a listing', async (t) => {
    const names = [
      'a',
      'B',
      'é',
      '%',
      ' ',
      '\u{1f600}',
      '\uff5e',
      'm',
      'n',
      '...',
      'z'.repeat(255),
      'é'.repeat(127),
    ]
    for (const folder of ['/names', '/m/names']) {
      for (const name of names) await put(ada, `${folder}/${name}`, name)
      const readdir = (await (await get(ada, 'readdir', folder)).json()) as Entry[]
      for (const limit of [1, 2, 5, names.length - 1, names.length, names.length + 1]) {
        const pages = await allPages(ada, folder, limit)
        t.strictSame(
          namesOf(pages),
          readdir.map(({ name }) => name),
        )
        t.equal(pages.length, Math.ceil(names.length / limit))
      }
    }
    await post(ada, 'mkdir', { path: '/empty' })
    t.strictSame(await page(ada, '/empty'), {
      entries: [],
      cursor: null,
      maxFileSize: 10 * 1024 ** 3,
      keeps: { trash: true, versions: true },
    })
    for (const limit of [1, 2, 3, 4]) {
      const root = (await (await get(ada, 'readdir', '/')).json()) as Entry[]
      t.strictSame(
        namesOf(await allPages(ada, '/', limit)),
        root.map(({ name }) => name),
      )
    }
  })

  t.test('entries that come and go between two pages disturb no others', async (t) => {
    for (const name of ['b', 'd', 'f', 'h']) await put(ada, `/moving/${name}`, 'x')
    const first = await page(ada, '/moving', '&limit=2')
    await put(ada, '/moving/a', 'before')
    await put(ada, '/moving/e', 'after')
    await post(ada, 'delete', { path: '/moving/d' })
    await post(ada, 'delete', { path: '/moving/f' })
    const second = await page(ada, '/moving', `&limit=2&cursor=${first.cursor}`)
    t.strictSame(namesOf([first, second]), ['b', 'd', 'e', 'h'])
    t.equal(second.cursor, null)
    await post(ada, 'delete', { path: '/moving' })
    const answer = await ada.fetch(`/api/files/list?path=/moving&cursor=${first.cursor}`)
    t.equal(answer.status, 404)
    await answer.body?.cancel()
  })

  t.test('wrong input is refused', async (t) => {
    await put(ada, '/file', 'x')
    for (const [query, status] of [
      ['', 400],
      ['?path=file', 400],
      ['?path=/file', 400],
      ['?path=/none', 404],
      ['?path=/docs/b/deep', 503],
      ['?path=/&limit=0', 400],
      ['?path=/&limit=10001', 400],
      ['?path=/&limit=x', 400],
      ['?path=/&cursor=', 400],
      ['?path=/&cursor=*', 400],
      ['?path=/&cursor=_w', 400],
      [`?path=/&cursor=${'A'.repeat(401)}`, 400],
    ] as const) {
      const answer = await ada.fetch(`/api/files/list${query}`)
      t.equal(answer.status, status, query)
      t.match(await answer.json(), { error: true })
    }
  })

  t.test('a page of a large folder on the disk has what it should', async (t) => {
    const folder = join(node.dataFolder, 'files', ada.user.uuid, 'large')
    await mkdir(folder)
    const names = Array.from({ length: 2501 }, (_, index) => `file-${index}`)
    await Promise.all(names.map((name) => writeFile(join(folder, name), '')))
    await symlink('/etc/passwd', join(folder, 'file-1-link'))
    t.strictSame(namesOf(await allPages(ada, '/large', 1000)), names.toSorted())
    t.equal((await page(ada, '/large')).entries.length, 1000)
  })
})

t.test('a page asks the storage only for its own entries', async (t) => {
  const listed: string[] = []
  const counting = definePlugin({
    id: 'counting-backend',
    requires: { backends: StorageBackends },
    contributes: { own: StorageBackends },
    setup({ backends, own }) {
      const memory = () => backends.get('memory') as StorageBackend
      own.add(
        'counting',
        new Proxy({} as StorageBackend, {
          get(_target, key: keyof StorageBackend) {
            if (key !== 'list')
              return typeof memory()[key] === 'function'
                ? (memory()[key] as () => unknown).bind(memory())
                : memory()[key]
            return async function* (...args: Parameters<StorageBackend['list']>) {
              for await (const entry of memory().list(...args)) {
                listed.push(entry.name)
                yield entry
              }
            }
          },
        }),
      )
    },
  })
  const services = captureServices()
  const plugins = [counting, services.plugin]
  const node = await createFilesNode({ mounts: { '/c': 'counting' } }, { plugins })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const names = Array.from({ length: 30 }, (_, index) => String(100 + index))
  for (const name of names) await put(ada, `/c/folder/${name}`, 'x')
  await services.untilIndexed(ada)
  listed.length = 0
  const pages = await allPages(ada, '/c/folder', 10)
  t.strictSame(namesOf(pages), names)
  t.equal(listed.length, 32, 'a page asks for one more than it has, to see whether there is another page')
})
