import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { captureServices } from './fixtures/captured-services.ts'
import { createFilesNode, get, put } from './fixtures/files-node.ts'

t.test(
  'the deletion of a user removes their files from every mount, and all their records from the journal',
  async (t) => {
    const services = captureServices()
    const node = await createFilesNode({ mounts: { '/memory': 'memory' } }, { plugins: [services.plugin] })
    t.teardown(() => node.stop())
    const [ada, bob] = [await node.signIn(), await node.signIn()]
    const maker = { kind: 'plugin', id: 'backup', user: ada.user.uuid } as const
    for (const user of [ada, bob]) {
      await put(user, '/docs/a', 'x')
      await put(user, '/memory/b', 'x')
    }
    await services.files.for(bob.user, { maker }).makeDirectory('/restored by ada')
    t.match((await services.recorded(bob.user.uuid)).at(-1), { maker })
    const { signal } = new AbortController()
    await services.userData.get('files')?.erase(ada.user.uuid, signal)
    await services.userData.get('files')?.erase(ada.user.uuid, signal)
    t.notOk((await readdir(join(node.dataFolder, 'files'))).includes(ada.user.uuid))
    t.match(await services.changes.head(ada.user.uuid), { seq: 0, id: '' })
    t.equal((await get(ada, 'stat', '/memory/b')).status, 404)
    t.equal(await (await get(bob, 'read', '/docs/a')).text(), 'x')
    t.equal(await (await get(bob, 'read', '/memory/b')).text(), 'x')
    const ofBob = await services.recorded(bob.user.uuid)
    t.match(
      ofBob.map(({ path, maker }) => [path, maker?.user]),
      [
        ['/docs/a', bob.user.uuid],
        ['/memory/b', bob.user.uuid],
        ['/restored by ada', undefined],
      ],
    )
    t.notOk(ofBob.at(-1)?.maker, 'nothing names the erased user')
  },
)

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
