import t, { test } from 'tap'
import { captureServices } from './fixtures/captured-services.ts'
import { createFilesNode, post, put } from './fixtures/files-node.ts'

const services = captureServices()
// Users are apart, so one node is enough for all tests.
const node = await createFilesNode(
  { mounts: { '/': 'local', '/m': 'memory' } },
  { plugins: [services.plugin] },
)
t.teardown(() => node.stop())

test('entries of a folder are found by their names, with the ids that they keep', async (t) => {
  const ada = await node.signIn()
  const index = services.index.for(ada.user)
  for (const path of ['/f/a', '/f/b/c', '/m/d']) await put(ada, path, 'x')
  const found = await index.named('/f', ['a', 'b', 'missing'])
  t.match([...found.keys()], ['a', 'b'])
  t.match(found.get('a'), { path: '/f/a', type: 'file', size: 1 })
  t.match(found.get('b'), { path: '/f/b', type: 'directory' })
  await post(ada, 'move', { source: '/f', destination: '/g' })
  t.equal((await index.named('/g', ['a'])).get('a')?.id, found.get('a')?.id)
  t.match((await index.named('/m', ['d'])).get('d'), { path: '/m/d' })
  t.strictSame([...(await index.named('/', ['f', 'm', 'g'])).keys()], ['g'], 'a mount is no entry')
  for (const folder of ['/missing', '/g/a']) t.equal((await index.named(folder, ['a'])).size, 0)
})

test('nobody finds entries of another user by their names', async (t) => {
  const [ada, grace] = [await node.signIn(), await node.signIn()]
  await put(ada, '/a', 'x')
  t.equal((await services.index.for(grace.user).named('/', ['a'])).size, 0)
})

test('a wrong folder, and too many names, are refused', async (t) => {
  const { user } = await node.signIn()
  const index = services.index.for(user)
  await t.rejects(index.named('/../a', ['a']), { code: 'VALIDATION_ERROR' })
  await t.rejects(index.named('/', new Array(1001).fill('a')), { code: 'VALIDATION_ERROR' })
})
