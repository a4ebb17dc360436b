import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.jobs = 3

const content = (text: string) => Readable.from([Buffer.from(text)])

t.test('a disk whose entries were given up is compared anew when it is mounted again', async (t) => {
  const shaky = shakyBackend({ watches: true })
  const services = captureServices()
  const node = await createFilesNode(
    { mounts: { '/cold': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await services.files.for(ada.user).write('/cold/file', content('x'))
  await services.changes.follow(ada.user.uuid)
  const index = services.index.for(ada.user)
  const idOf = async () => (await index.find('file')).entries[0]?.id
  const mountDisk = async (id: string, isThere: (id: string | undefined) => boolean) => {
    shaky.storageId = id
    shaky.hint('/')
    while (!isThere(await idOf())) await delay(5)
  }
  const first = await idOf()
  // The files are the same ones, so each disk gets an entry of its own.
  const ids = [first]
  for (const disk of ['b', 'c', 'd', 'e', 'f']) {
    await mountDisk(disk, (id) => id !== undefined && !ids.includes(id))
    ids.push(await idOf())
  }
  await mountDisk('e', (id) => id === ids[4])
  await mountDisk('memory', (id) => id !== undefined && !ids.includes(id))
  t.equal(await index.entry(first ?? ''), null, 'only some former disks are remembered')
  t.match((await index.usage('/cold')).entries, 1)
})

t.test('a storage that forgets its files has none in the index after a restart', async (t) => {
  const dataFolder = t.testdir()
  const start = async (mounts: Readonly<Record<string, string>>) => {
    const services = captureServices()
    const node = await createFilesNode({ mounts }, { dataFolder, plugins: [services.plugin] })
    t.teardown(() => node.stop())
    return { node, services }
  }
  const before = await start({ '/': 'memory', '/disk': 'local' })
  const ada = await before.node.signIn()
  const files = before.services.files.for(ada.user)
  await files.write('/forgotten', content('x'))
  await files.write('/disk/folder/kept', content('x'))
  const kept = (await before.services.index.for(ada.user).find('kept')).entries
  t.match(kept, [{ path: '/disk/folder/kept' }])
  await before.node.stop()

  // The disk has another place now, and its entries move with it.
  const after = await start({ '/': 'memory', '/other/place': 'local' })
  await after.services.untilIndexed(ada)
  const index = after.services.index.for(ada.user)
  t.strictSame((await index.find('forgotten')).entries, [])
  t.match((await index.find('kept')).entries, [{ id: kept[0]?.id, path: '/other/place/folder/kept' }])
  await t.rejects(index.usage('/disk'), { code: 'NOT_FOUND' })
  t.match(await index.usage(), { bytes: 1, isComplete: true })
})
