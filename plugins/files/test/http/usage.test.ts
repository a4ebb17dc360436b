import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { runCommand, type TestNode, type TestUser } from '@nodekeep/kernel/testing'
import type { StorageBackend } from '@nodekeep/plugin-sdk'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import t from 'tap'
import { captureServices } from '../fixtures/captured-services.ts'
import { createFilesNode, get, post, put } from '../fixtures/files-node.ts'
import { keptOf } from '../fixtures/kept-api.ts'
import { shakyBackend } from '../fixtures/shaky-backend.ts'
import { createNodeWithTwoMounts } from '../fixtures/two-mounts.ts'

type Usage = NodeAnswers['GET /api/files/usage']
type All = NodeAnswers['GET /api/files/usage/all']

async function usage(user: TestUser, path = '/'): Promise<Usage> {
  const answer = await get(user, 'api/files/usage', path)
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as Usage
}

async function refusal(answer: Promise<Response>) {
  const refused = await answer
  return [refused.status, ((await refused.json()) as { code?: string }).code]
}

/** Waits until the usage of a folder is as wanted. It is given what it is at the end. */
async function untilBytes(user: TestUser, path: string, bytes: number): Promise<Usage> {
  for (;;) {
    const found = await usage(user, path)
    if (found.bytes === bytes) return found
    await delay(5)
  }
}

t.test('the usage is exact after each kind of change, also of other programs', async (t) => {
  const { ada, disk, services } = await createNodeWithTwoMounts(t)
  await put(ada, '/a/one', 'x'.repeat(10))
  await services.untilIndexed(ada)
  const numbers = async (path = '/') => {
    const { bytes, entries, isComplete, folders } = await usage(ada, path)
    t.ok(isComplete)
    return [bytes, entries, ...folders.map((of) => `${of.path} ${of.bytes} ${of.entries}`)]
  }
  t.strictSame(await numbers(), [10, 3, '/a 10 1', '/cold 0 0'], 'a write, with the mount as a folder')
  await put(ada, '/a/one', 'x'.repeat(25))
  t.strictSame(await numbers('/a'), [25, 1], 'an overwrite')
  await post(ada, 'mkdir', { path: '/b/deep' })
  await put(ada, '/b/two', 'x'.repeat(100))
  t.strictSame(await numbers(), [125, 6, '/b 100 2', '/a 25 1', '/cold 0 0'], 'largest first')
  await post(ada, 'move', { source: '/a', destination: '/b/deep/a' })
  t.strictSame(await numbers('/b'), [125, 4, '/b/deep 25 2'], 'a move into a folder')
  await post(ada, 'move', { source: '/b/deep', destination: '/deep' })
  t.strictSame(await numbers(), [125, 6, '/b 100 1', '/deep 25 2', '/cold 0 0'], 'a move out of a folder')
  await post(ada, 'api/files/copy', { source: '/deep', destination: '/copy' })
  t.strictSame(await numbers('/copy'), [25, 2, '/copy/a 25 1'], 'a copy')
  await post(ada, 'move', { source: '/deep', destination: '/cold/deep' })
  t.strictSame(await numbers('/cold'), [25, 3, '/cold/deep 25 2'], 'a move to another mount')
  t.strictSame(await numbers(), [150, 9, '/b 100 1', '/copy 25 2', '/cold 25 3'])
  await post(ada, 'delete', { path: '/b' })
  t.strictSame(await numbers(), [50, 7, '/copy 25 2', '/cold 25 3'], 'a deletion')

  await services.changes.follow(ada.user.uuid)
  await mkdir(join(disk, 'foreign'))
  await writeFile(join(disk, 'foreign', 'file'), 'x'.repeat(7))
  t.match(await untilBytes(ada, '/', 57), { entries: 9 }, 'files of another program')
  await rename(join(disk, 'foreign'), join(disk, 'copy', 'foreign'))
  t.match(await untilBytes(ada, '/copy', 32), { entries: 4 }, 'its move')
  await rm(join(disk, 'copy'), { recursive: true })
  t.match(await untilBytes(ada, '/', 25), { entries: 4 }, 'its deletion')
})

t.test('the usage is exact after 100 uploads at once', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const uploads = Array.from({ length: 100 }, (_, i) => put(ada, `/${i % 4}/${i % 10}/${i}`, 'x'.repeat(i)))
  for (const answer of await Promise.all(uploads)) t.ok(answer.ok)
  t.match(await usage(ada), { bytes: 4950, entries: 124 })
  t.match(await usage(ada, '/1'), { bytes: 1225, entries: 30 })
  await services.untilIndexed(ada)
  t.match(await usage(ada), { bytes: 4950, entries: 124, isComplete: true }, 'also after the comparison')
})

t.test('the room of the trash and of versions is told apart, on all mounts', async (t) => {
  const { node, ada, shaky } = await createNodeWithTwoMounts(t)
  const owner = await node.signIn('owner')
  const kept = async () => (await usage(ada)).kept
  t.strictSame(await kept(), { trash: 0, versions: 0 })
  await put(ada, '/a', 'x'.repeat(300))
  await put(ada, '/a', 'x'.repeat(200))
  t.strictSame(await kept(), { trash: 0, versions: 300 })
  await put(ada, '/folder/deep/b', 'x'.repeat(50))
  await post(ada, 'delete', { path: '/folder' })
  await put(ada, '/cold/c', 'x'.repeat(7))
  await post(ada, 'delete', { path: '/cold/c' })
  t.strictSame(await kept(), { trash: 57, versions: 300 })
  await post(ada, 'delete', { path: '/a' })
  t.match(await usage(ada), { bytes: 0, kept: { trash: 257, versions: 300 } }, 'versions of a deleted file')
  shaky.isReachable = false
  t.strictSame((await usage(ada, '/cold')).kept, { trash: 257, versions: 300 }, 'whatever the path')
  shaky.isReachable = true
  t.match((await all(owner)).users.find(({ uuid }) => uuid === ada.user.uuid)?.kept, {
    trash: 257,
    versions: 300,
  })
  const { items } = await keptOf(ada).trash()
  await keptOf(ada).restore(items[0]?.id ?? '')
  t.strictSame(await kept(), { trash: 57, versions: 300 })
  await post(ada, 'delete', { path: '/a' })
  await post(ada, 'api/files/trash/empty', {})
  t.strictSame(await kept(), { trash: 0, versions: 0 })
})

t.test('a path that is no folder of the user is refused', async (t) => {
  const node = await createFilesNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  const bert = await node.signIn()
  await put(ada, '/folder/file', 'secret')
  t.strictSame(await refusal(get(ada, 'api/files/usage', '/folder/file')), [409, 'CONFLICT'])
  t.strictSame(await refusal(get(ada, 'api/files/usage', '/none')), [404, 'NOT_FOUND'])
  t.strictSame(await refusal(get(ada, 'api/files/usage', 'folder')), [400, 'VALIDATION_ERROR'])
  t.strictSame(await refusal(get(ada, 'api/files/usage', '/../x')), [400, 'VALIDATION_ERROR'])
  t.strictSame(await refusal(get(bert, 'api/files/usage', '/folder')), [404, 'NOT_FOUND'])
  t.match(await usage(bert), { bytes: 0, entries: 0, folders: [] })
})

t.test('while the node is still counting, the answers and the status say so', async (t) => {
  const shaky = shakyBackend()
  const services = captureServices()
  const node = await createFilesNode(
    { mounts: { '/cold': 'shaky' } },
    { plugins: [services.plugin, shaky.plugin] },
  )
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const memory = services.backends.get('memory') as StorageBackend
  const write = (path: string) =>
    memory.write(`/${owner.user.uuid}${path}`, Readable.from([Buffer.from('four')]))
  await write('/folder/file')
  const gate = Promise.withResolvers<void>()
  shaky.whileListing = () => gate.promise
  t.match(await usage(owner, '/cold'), { bytes: 0, isComplete: false })
  t.match(
    await usage(owner, '/cold/folder'),
    { bytes: 0, isComplete: false, folders: [] },
    'a folder that it has not seen',
  )
  const status = () => runCommand(['status', '--json', '--data', node.dataFolder], { cwd: t.testdirName })
  const { checks } = await health(owner)
  t.strictSame(checks['file-index'], { ok: true, state: 'counting' })
  t.strictSame(JSON.parse((await status()).stdout).attention, [], 'the owner has nothing to do')
  t.match(await all(owner), { users: [{ uuid: owner.user.uuid, isComplete: false }] })
  gate.resolve()
  await services.untilIndexed(owner)
  t.match(await usage(owner), { bytes: 4, entries: 3, isComplete: true })
  t.match(await all(owner), { users: [{ bytes: 4, isComplete: true }] })
  while ((await health(owner)).checks['file-index']?.state !== 'complete') await delay(100)
})

t.test('a mount that is out of reach keeps no other one from being counted', async (t) => {
  const shaky = shakyBackend()
  shaky.isReachable = false
  const node = await createFilesNode({ mounts: { '/cold': 'shaky' } }, { plugins: [shaky.plugin] })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  t.equal((await put(owner, '/file', 'four')).status, 200)
  const mounts = async () => (await all(owner)).users[0]?.mounts ?? []
  const isCounted = async () => (await mounts()).some(({ mount, isComplete }) => mount === '/' && isComplete)
  while (!(await isCounted())) await delay(50)
  t.match(await all(owner), { users: [{ bytes: 4, isComplete: false }] })
})

t.test('the owner sees all users, and the room of the storages', async (t) => {
  const { node, ada, services } = await createNodeWithTwoMounts(t)
  const owner = await node.signIn('owner')
  await put(ada, '/file', 'x'.repeat(30))
  await put(ada, '/cold/file', 'x'.repeat(5))
  await put(owner, '/file', 'x')
  for (const user of [ada, owner]) await services.untilIndexed(user)
  const { users, mounts } = await all(owner)
  t.match(users, [
    {
      uuid: ada.user.uuid,
      username: ada.user.username,
      bytes: 35,
      isComplete: true,
      mounts: [
        { mount: '/', bytes: 30, entries: 1 },
        { mount: '/cold', bytes: 5, entries: 1 },
      ],
    },
    { uuid: owner.user.uuid, bytes: 1, entries: 1 },
  ])
  t.match(mounts, [
    { mount: '/', storage: 'local', bytes: 31, entries: 2 },
    { mount: '/cold', storage: 'shaky', bytes: 5, entries: 1, space: null },
  ])
  const { free = 0, total = 0 } = mounts[0]?.space ?? {}
  t.ok(free > 0 && free < total)
  t.equal((await usage(ada)).space, null, 'no room for folders on several storages')
  const made = await ada.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'other', scopes: ['files:write'] }),
  })
  const { token } = (await made.json()) as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  t.strictSame(await refusal(node.fetch('/api/files/usage', { headers })), [403, 'FORBIDDEN'])
  t.strictSame(await refusal(node.fetch('/api/files/usage/all')), [401, 'UNAUTHORIZED'])
  t.strictSame(await refusal(ada.fetch('/api/files/usage/all')), [403, 'FORBIDDEN'])
  const ownToken = await owner.fetch('/api/account/tokens', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'reader', scopes: ['files:read'] }),
  })
  const authorization = `Bearer ${((await ownToken.json()) as { token: string }).token}`
  t.strictSame(
    await refusal(node.fetch('/api/files/usage/all', { headers: { authorization } })),
    [403, 'FORBIDDEN'],
    'a token about own files tells nothing of others',
  )
})

t.test('a mount below a folder counts in it, and a folder on one storage tells the room of it', async (t) => {
  const node = await createFilesNode(
    { mounts: { '/deep/mem': 'memory' } },
    { config: { 'storage-memory': { maxBytes: 1000 } } },
  )
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/deep/mem/file', 'x'.repeat(100))
  const mem = { name: 'mem', path: '/deep/mem', bytes: 100, entries: 1 }
  t.match(await usage(ada, '/deep/mem'), { bytes: 100, entries: 1, space: { free: 900, total: 1000 } })
  t.match(await usage(ada, '/deep'), { bytes: 100, entries: 2, folders: [mem], space: null })
  await put(ada, '/deep/own/file', 'x'.repeat(7))
  const own = { name: 'own', path: '/deep/own', bytes: 7, entries: 1 }
  t.match(await usage(ada, '/deep'), { bytes: 107, entries: 4, folders: [mem, own], space: null })
  t.match(await usage(ada), { bytes: 107, folders: [mem, { path: '/deep', bytes: 7 }] })
  const { space } = await usage(ada, '/deep/own')
  t.ok(space !== null && space.total > 1000, 'the storage of "/"')
})

t.test('the command line shows the usage, of the owner and of all', async (t) => {
  const services = captureServices()
  const node = await createFilesNode({}, { plugins: [services.plugin] })
  t.teardown(() => node.stop())
  const run = commandOf(t.testdir({ 'nodekeep.json': JSON.stringify({ plugins: { files: true } }) }), node)
  const owner = await node.signIn('owner')
  const ada = await node.signIn()
  await put(owner, '/photos/cat', 'x'.repeat(1500))
  await put(owner, '/small/dog', 'x')
  await put(ada, '/file', 'x'.repeat(3_000_000))
  for (const user of [ada, owner]) await services.untilIndexed(user)
  const shown = await run('usage')
  t.match(shown, { code: 0, stdout: /1\.5 kB.*free.*\/photos +1\.5 kB.*\/small +1 B/s })
  t.notMatch(shown.stdout, /still counting/)
  t.match(JSON.parse((await run('usage', '/photos', '--json')).stdout), {
    path: '/photos',
    bytes: 1500,
    isComplete: true,
  })
  t.match(await run('files', 'usage', '/photos'), { code: 0, stdout: /1\.5 kB/ })
  const everybody = await run('usage', '--all')
  t.match(everybody, {
    code: 0,
    stdout: new RegExp(`${ada.user.username} +3 MB.*${owner.user.username}`, 's'),
  })
  t.match(everybody.stdout, /MOUNT +STORAGE.*local/s)
  t.match(JSON.parse((await run('usage', '--all', '--json')).stdout), {
    users: [{}, {}],
    mounts: [{ mount: '/' }],
  })
  await put(owner, '/photos/cat', 'y'.repeat(2500))
  await post(owner, 'delete', { path: '/small' })
  t.match(await run('usage'), { stdout: /trash +1 B.*versions +1\.5 kB/s })
  t.match((await run('usage', '--all')).stdout, /TRASH +VERSIONS.*1 B +1\.5 kB/s)
  t.match(await run('quota', owner.user.username), { stdout: /trash +1 B.*versions +1\.5 kB/s })
  t.match(await run('usage', '/none'), { code: 1, stderr: /nothing at/ })
  t.match(await run('usage', '/photos', '--all'), { code: 1, stderr: /Leave out the path/ })
  t.match(await run('usage', '--help'), { code: 0, stdout: /\[path\].*--all.*--json/s })
  await node.stop()
  t.match(await run('usage'), { code: 1, stderr: /No node runs/ })
})

function commandOf(folder: string, { dataFolder }: TestNode) {
  return (...args: string[]) =>
    runCommand([...args, '--config', join(folder, 'nodekeep.json'), '--data', dataFolder], { cwd: folder })
}

async function all(owner: TestUser): Promise<All> {
  return (await (await owner.fetch('/api/files/usage/all')).json()) as All
}

async function health(owner: TestUser): Promise<NodeAnswers['GET /api/system/health']> {
  return (await (await owner.fetch('/api/system/health')).json()) as NodeAnswers['GET /api/system/health']
}
