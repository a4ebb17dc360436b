import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { captureServices } from './fixtures/captured-services.ts'
import { createFilesNode, get, put } from './fixtures/files-node.ts'
import { keptOf } from './fixtures/kept-api.ts'

t.test(
  'the deletion of a user removes their files from every mount, and all their records from the journal',
  async (t) => {
    const services = captureServices()
    const node = await createFilesNode({ mounts: { '/memory': 'memory' } }, { plugins: [services.plugin] })
    t.teardown(() => node.stop())
    const [ada, bob] = [await node.signIn(), await node.signIn()]
    const maker = { kind: 'plugin', id: 'backup', user: ada.user.uuid } as const
    for (const user of [ada, bob]) {
      for (const path of ['/gone', '/memory/gone', '/docs/a', '/docs/a', '/memory/b'])
        await put(user, path, 'x')
      for (const path of ['/gone', '/memory/gone']) await services.files.for(user.user).remove(path)
    }
    await services.files.for(bob.user, { maker }).makeDirectory('/restored by ada')
    t.match((await services.recorded(bob.user.uuid)).at(-1), { maker })
    const { signal } = new AbortController()
    await services.userData.get('files')?.erase(ada.user.uuid, signal)
    await services.userData.get('files')?.erase(ada.user.uuid, signal)
    const root = join(node.dataFolder, 'files')
    t.notOk((await readdir(root)).includes(ada.user.uuid))
    t.strictSame(await readdir(join(root, 'kept')), [bob.user.uuid])
    await t.rejects(async () => services.backends.get('memory')?.stat(`/kept/${ada.user.uuid}`), {
      code: 'NOT_FOUND',
    })
    t.strictSame((await keptOf(ada).trash()).items, [])
    t.strictSame((await keptOf(bob).trash()).items.length, 2)
    t.strictSame((await keptOf(bob).versions('/docs/a')).items.length, 1)
    t.match(await services.changes.head(ada.user.uuid), { seq: 0, id: '' })
    t.equal((await get(ada, 'stat', '/memory/b')).status, 404)
    t.equal(await (await get(bob, 'read', '/docs/a')).text(), 'x')
    t.equal(await (await get(bob, 'read', '/memory/b')).text(), 'x')
    const ofBob = await services.recorded(bob.user.uuid)
    t.match(
      ofBob.filter(({ op }) => op !== 'delete').map(({ path, maker }) => [path, maker?.user]),
      [
        ['/gone', bob.user.uuid],
        ['/memory/gone', bob.user.uuid],
        ['/docs/a', bob.user.uuid],
        ['/docs/a', bob.user.uuid],
        ['/memory/b', bob.user.uuid],
        ['/restored by ada', undefined],
      ],
    )
    t.notOk(ofBob.at(-1)?.maker, 'nothing names the erased user')
  },
)

t.test('the trash of users whom the directory does not have is erased at the start', async (t) => {
  const dataFolder = t.testdir()
  const services = captureServices()
  const first = await createFilesNode({}, { dataFolder, plugins: [services.plugin] })
  const ada = await first.signIn()
  await put(ada, '/gone', 'x')
  await services.files.for(ada.user).remove('/gone')
  await first.stop()
  const kept = join(dataFolder, 'files', 'kept')
  const unknown = '6f6ef3b6-6f3b-4f0e-9d2e-0a5a4f1c9d10'
  // The directory of users may be older than the files.
  const withFiles = '0d9b4c7e-31b0-4a0e-8f0f-7e6a0f8f3b22'
  await mkdir(join(dataFolder, 'files', withFiles))
  for (const name of [unknown, withFiles, 'of somebody else'])
    await mkdir(join(kept, name, 'item'), { recursive: true })
  const erased = Promise.withResolvers<void>()
  const onLog = (line: string) => line.includes('who is not there any more') && erased.resolve()
  const second = await createFilesNode({}, { dataFolder, onLog })
  t.teardown(() => second.stop())
  await erased.promise
  t.strictSame((await readdir(kept)).sort(), [ada.user.uuid, withFiles, 'of somebody else'].sort())
})

t.test('a user whose files are unreachable is not erased', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({ mounts: { '/gone': 'not-loaded' } }, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const { signal } = new AbortController()
  await t.rejects(async () => services.userData.get('files')?.erase(ada.user.uuid, signal), {
    code: 'SERVICE_UNAVAILABLE',
  })
})
