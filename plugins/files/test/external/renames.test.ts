import { link, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { TestUser } from '@nodekeep/kernel/testing'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import t, { type Test } from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, put } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

async function start(t: Test, dataFolder?: string) {
  const services = captureServices()
  const node = await createFilesNode(
    {},
    { plugins: [services.plugin], ...(dataFolder !== undefined && { dataFolder }) },
  )
  t.teardown(() => node.stop())
  return { node, services }
}

/** The ids of all entries of a user, by path. */
async function idsOf(services: ReturnType<typeof captureServices>, { user }: TestUser) {
  const { entries } = await services.index.for(user).changed('')
  return new Map(entries.map(({ path, id }) => [path, id]))
}

t.test('entries that other programs rename keep their ids', async (t) => {
  const { node, services } = await start(t)
  const ada = await node.signIn()
  const files = [
    '/file',
    '/swap 1',
    '/swap 2',
    '/folder/inner/deep',
    '/saved',
    '/linked',
    '/replaced',
    '/into/x',
  ]
  for (const path of files) await put(ada, path, `the content of ${path}`)
  await services.changes.follow(ada.user.uuid)
  await services.untilIndexed(ada)
  const before = await idsOf(services, ada)
  const at = (path: string) => join(node.dataFolder, 'files', ada.user.uuid, path)
  const until = async (...paths: readonly string[]) => {
    for (;;) {
      const ids = await idsOf(services, ada)
      if (paths.every((path) => ids.has(path))) return ids
      await delay(20)
    }
  }
  const untilGone = async (path: string) => {
    while ((await idsOf(services, ada)).has(path)) await delay(20)
    return idsOf(services, ada)
  }
  const id = (path: string) => before.get(path) ?? ''

  await rename(at('/file'), at('/into/renamed'))
  await until('/into/renamed')
  t.equal((await untilGone('/file')).get('/into/renamed'), id('/file'), 'a file')
  t.match(await services.index.for(ada.user).entry(id('/file')), { path: '/into/renamed' })

  await rename(at('/folder/inner'), at('/folder/other'))
  await rename(at('/folder'), at('/into/folder'))
  await until('/into/folder/other/deep')
  const folders = await untilGone('/folder')
  t.equal(folders.get('/into/folder/other/deep'), id('/folder/inner/deep'), 'a file in a renamed folder')

  await writeFile(at('/temporary'), 'saved again, and longer')
  await rename(at('/temporary'), at('/saved'))
  while ((await services.index.for(ada.user).entry(id('/saved')))?.size !== 23) await delay(20)
  t.equal((await untilGone('/temporary')).get('/saved'), id('/saved'), 'a program that saves by a rename')

  await link(at('/linked'), at('/second name'))
  const linked = await until('/second name')
  t.equal(linked.get('/linked'), id('/linked'), 'a second name of a file is no rename')
  t.not(linked.get('/second name'), id('/linked'))

  await rename(at('/swap 1'), at('/swap'))
  await rename(at('/swap 2'), at('/swap 1'))
  await rename(at('/swap'), at('/swap 2'))
  const sizes = async () =>
    Promise.all(['/swap 1', '/swap 2'].map((path) => services.index.for(ada.user).entry(id(path))))
  t.ok(
    (await sizes()).every((entry) => entry !== null),
    'two files that are swapped stay in the index',
  )

  await rename(at('/into/x'), at('/replaced'))
  await untilGone('/into/x')
  t.equal((await idsOf(services, ada)).get('/replaced'), id('/replaced'), 'a file that another one replaces')
})

t.test('entries that are renamed while the node is stopped keep their ids', async (t) => {
  const dataFolder = t.testdir()
  const first = await start(t, dataFolder)
  const ada = await first.node.signIn()
  for (const path of ['/file', '/folder/a', '/folder/b']) await put(ada, path, `the content of ${path}`)
  await first.services.changes.follow(ada.user.uuid)
  await first.services.untilIndexed(ada)
  const before = await idsOf(first.services, ada)
  await first.node.stop()
  const at = (path: string) => join(dataFolder, 'files', ada.user.uuid, path)
  await mkdir(at('/new'))
  await rename(at('/file'), at('/new/file'))
  await rename(at('/folder'), at('/new/folder'))
  await rm(at('/new/folder/b'))
  const { services } = await start(t, dataFolder)
  await services.changes.follow(ada.user.uuid)
  const isFollowed = (ids: typeof before) =>
    !ids.has('/folder') && ids.has('/new/folder/a') && !ids.has('/new/folder/b')
  let after = before
  for (; !isFollowed(after); await delay(20)) after = await idsOf(services, ada)
  t.strictSame([...after.keys()].sort(), ['/new', '/new/file', '/new/folder', '/new/folder/a'])
  for (const path of ['/file', '/folder', '/folder/a'])
    t.equal(after.get(`/new${path}`), before.get(path), path)
})

t.test('an entry keeps its id if the hint of its new place comes a scan later', async (t) => {
  const services = captureServices()
  const shaky = shakyBackend({ watches: true })
  const node = await createFilesNode(
    { mounts: { '/cold': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const path of ['/cold/file', '/cold/folder/in', '/cold/removed']) await put(ada, path, path)
  await services.changes.follow(ada.user.uuid)
  await services.untilIndexed(ada)
  const before = await idsOf(services, ada)
  const memory = services.backends.get('memory') as Required<StorageBackend>
  const at = (name: string) => `/${ada.user.uuid}/${name}`
  const scanned = Promise.withResolvers<void>()
  shaky.beforeStat = async () => scanned.resolve()
  await memory.move(at('file'), at('new'))
  await memory.move(at('folder'), at('other'))
  await memory.remove(at('removed'))
  for (const name of ['file', 'folder', 'removed']) shaky.hint(at(name))
  await scanned.promise
  for (const name of ['new', 'other']) shaky.hint(at(name))
  let after = before
  while (['file', 'folder', 'removed'].some((name) => after.has(`/cold/${name}`))) {
    await delay(20)
    after = await idsOf(services, ada)
  }
  t.equal(after.get('/cold/new'), before.get('/cold/file'))
  t.equal(after.get('/cold/other/in'), before.get('/cold/folder/in'))
})
