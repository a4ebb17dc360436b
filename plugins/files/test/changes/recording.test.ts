import { FileChanged } from '@nodekeep/plugin-sdk'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put, upload } from '../fixtures/files-node.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'

t.test('every change is in the journal when it is answered', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const announced: number[] = []
  services.events.on(FileChanged, ({ userUuid, seq }) => {
    if (userUuid === ada.user.uuid) announced.push(seq)
  })
  const device = { 'x-nodekeep-device': 'laptop' }
  const etag = (await put(ada, '/a', 'four', device)).headers.get('etag') ?? ''
  await upload(ada, '/b/c', 'x')
  await post(ada, 'mkdir', { path: '/d' }, device)
  await post(ada, 'move', { source: '/a', destination: '/d/a' }, device)
  await post(ada, 'delete', { path: '/b' })
  const changes = await services.recorded(ada.user.uuid)
  t.match(changes, [
    { op: 'write', path: '/a', size: 4, revision: etag.slice(1, -1), by: 'laptop' },
    { op: 'write', path: '/b/c', size: 1 },
    { op: 'mkdir', path: '/d', by: 'laptop' },
    { op: 'move', path: '/d/a', source: '/a', revision: etag.slice(1, -1), by: 'laptop' },
    { op: 'delete', path: '/b' },
  ])
  t.notOk(changes[1] && 'by' in changes[1])
  t.strictSame(
    announced,
    changes.map(({ seq }) => seq),
  )
  t.equal((await get(ada, 'read', '/d/a')).headers.get('etag'), etag, 'a move keeps the revision')

  const failing = [
    put(ada, '/d', 'x'),
    put(ada, '/d/a', 'x', { 'if-match': '"other"' }),
    post(ada, 'mkdir', { path: '/d' }),
    post(ada, 'mkdir', { path: '/d/a' }),
    post(ada, 'delete', { path: '/none' }),
    post(ada, 'delete', { path: '/d/a' }, { 'if-match': '"other"' }),
    post(ada, 'move', { source: '/none', destination: '/x' }),
    post(ada, 'move', { source: '/d', destination: '/d/a' }),
    put(ada, '/x', 'x', { 'x-nodekeep-device': 'x'.repeat(101) }),
    put(ada, '/x', 'x', { 'x-nodekeep-device': 'disk' }),
  ]
  for (const answer of await Promise.all(failing)) await answer.body?.cancel()
  t.equal(
    (await services.changes.head(ada.user.uuid)).seq,
    changes.at(-1)?.seq,
    'the journal records no request that changes nothing',
  )
})

t.test('a change that fails after it took effect is in the journal', async (t) => {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/moved', 'x')
  shaky.afterChange = () => {
    throw new Error('the connection broke')
  }
  const answers = [
    await put(ada, '/written', 'x'),
    await post(ada, 'mkdir', { path: '/made' }),
    await post(ada, 'move', { source: '/moved', destination: '/there' }),
    await post(ada, 'delete', { path: '/written' }),
  ]
  for (const { status } of answers) t.equal(status, 500)
  t.match(await services.recorded(ada.user.uuid, 1), [
    { op: 'write', path: '/written' },
    { op: 'mkdir', path: '/made' },
    { op: 'move', path: '/there', source: '/moved' },
    { op: 'delete', path: '/written' },
  ])
})

t.test('the folders that a failed change has made above its path are in the journal', async (t) => {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/first', 'x')
  // The file is gone again when the node looks for it.
  shaky.afterChange = () => {
    shaky.beforeStat = async () => {
      shaky.beforeStat = async () => {}
      await services.backends.get('memory')?.remove(`/${ada.user.uuid}/new/folder/file`)
    }
    throw new Error('the disk is full')
  }
  t.equal((await put(ada, '/new/folder/file', 'x')).status, 500)
  t.match(await services.recorded(ada.user.uuid, 1), [
    { op: 'mkdir', path: '/new', by: 'disk' },
    { op: 'mkdir', path: '/new/folder', by: 'disk' },
  ])
})

t.test('the node finds out the outcome of an open change before another change hides it', async (t) => {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/a', 'x')
  await post(ada, 'mkdir', { path: '/folder' })
  shaky.afterChange = () => {
    shaky.isReachable = false
    throw new Error('the connection broke')
  }
  t.equal((await post(ada, 'move', { source: '/a', destination: '/b' })).status, 500)
  shaky.isReachable = true
  t.equal((await post(ada, 'move', { source: '/folder', destination: '/moved' })).status, 500)
  shaky.isReachable = true
  shaky.afterChange = () => {}
  t.equal((await post(ada, 'delete', { path: '/b' })).status, 200)
  t.equal((await put(ada, '/moved/file', 'x')).status, 200)
  t.match(await services.recorded(ada.user.uuid, 2), [
    { op: 'move', path: '/b', source: '/a' },
    { op: 'move', path: '/moved', source: '/folder' },
    { op: 'delete', path: '/b' },
    { op: 'write', path: '/moved/file' },
  ])
})

t.test('a change that was given up stays open, since it may still happen', async (t) => {
  const services = captureServices()
  const shaky = shakyBackend()
  const node = await createFilesNode(
    { mounts: { '/': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/first', 'x')
  shaky.isSilent = true
  const answer = await post(ada, 'mkdir', { path: '/late' })
  t.equal(answer.status, 503)
  t.equal(answer.headers.get('retry-after'), '30')
  t.match(services.changes.stalled(ada.user.uuid), { mount: '/' })
  await shaky.makeLate()
  t.equal((await put(ada, '/late/file', 'x')).status, 200)
  t.match(await services.recorded(ada.user.uuid, 1), [
    { op: 'mkdir', path: '/late' },
    { op: 'write', path: '/late/file' },
  ])
})
