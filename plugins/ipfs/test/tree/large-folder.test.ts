import { join } from 'node:path'
import { answerOf, collectHeap } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { LazyStore } from '../../src/store/lazy-store.ts'
import { createIpfsBackend } from '../../src/tree/ipfs-driver.ts'
import { silent } from '../fixtures/ipfs-folder.ts'
import { createIpfsNode, put } from '../fixtures/ipfs-node.ts'

const count = 50_000
const pageEntries = 10_000

/** Returns the bytes of the heap that are in use, in mebibytes. */
function heap(): number {
  collectHeap('major')
  return process.memoryUsage().heapUsed / 2 ** 20
}

t.test('a folder of 50,000 entries is listed in pages, and its files are read', async (t) => {
  const dataFolder = t.testdir()
  const config = { storage: { mounts: { '/': 'local', '/blocks': 'ipfs' } } }
  const before = await createIpfsNode({ dataFolder, config })
  const { uuid } = (await before.signIn('owner')).user
  await put(await before.signIn('owner'), '/blocks/large/first', 'the content')
  await before.stop()

  const own = join(dataFolder, 'plugins/ipfs/not-in-backups')
  const packs = join(own, 'packs')
  const lazy = new LazyStore(packs, () => join(own, 'index.sqlite'), silent)
  const backend = createIpfsBackend(lazy, packs)
  const store = await lazy.open()
  const { root } = store.view.connection.prepare('SELECT root FROM entry WHERE root IS NOT NULL').get() ?? {}
  const names = Array.from({ length: count - 1 }, (_, index) => `${index}`.padStart(6, '0'))
  for (let first = 0; first < names.length; first += pageEntries)
    await store.change(
      names.slice(first, first + pageEntries).map((name) => ({
        kind: 'file',
        path: `/${uuid}/large/${name}`,
        root: root as Uint8Array,
        size: 11,
        modified: 0,
        created: 0,
        revision: `revision-${name}`,
      })),
    )
  const empty = heap()
  let listed = 0
  let most = 0
  for await (const _ of backend.list(`/${uuid}/large`)) {
    listed += 1
    if (listed % 10_000 === 0) most = Math.max(most, heap() - empty)
  }
  t.equal(listed, count)
  t.ok(most < 5, `${most} MiB`)
  await backend.close()
  await lazy.close()

  const node = await createIpfsNode({ dataFolder, config })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const found: string[] = []
  let pages = 0
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const after = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const url = `/api/files/list?path=/blocks/large&limit=${pageEntries}${after}`
    const page: { readonly entries: readonly { readonly name: string }[]; readonly cursor: string | null } =
      await answerOf(owner.fetch(url))
    found.push(...page.entries.map(({ name }) => name))
    cursor = page.cursor
  }
  t.equal(pages, count / pageEntries)
  t.strictSame(found, [...names, 'first'])
  t.equal(await (await owner.fetch('/read?path=/blocks/large/049998')).text(), 'the content')
  t.equal((await answerOf<unknown[]>(owner.fetch('/readdir?path=/blocks/large'))).length, count)
})
