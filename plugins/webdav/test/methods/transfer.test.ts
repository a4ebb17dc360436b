import t, { test } from 'tap'
import { connectProgram, contentOf, createDavNode, namesIn } from '../fixtures/dav-node.ts'

// Users are apart, so one node is enough for all tests.
const node = await createDavNode()
t.teardown(() => node.stop())

const connect = async () => connectProgram(node, await node.signIn())
const to = (destination: string, headers: Record<string, string> = {}) => ({
  headers: { destination: `/dav${destination}`, ...headers },
})

test('a file is copied and moved, and replaces another one only if it may', async (t) => {
  const ada = await connect()
  await ada.expect(201, 'PUT', '/a', { body: 'a' })
  await ada.expect(201, 'COPY', '/a', to('/b'))
  await ada.expect(412, 'COPY', '/a', to('/b', { overwrite: 'F' }))
  await ada.expect(204, 'COPY', '/a', to('/b', { overwrite: 'T' }))
  await ada.expect(201, 'MOVE', '/b', { headers: { destination: `${node.url.origin}/dav/c%20d` } })
  t.equal(await contentOf(ada, '/c d'), 'a')
  await ada.expect(201, 'PUT', '/e', { body: 'e' })
  await ada.expect(412, 'MOVE', '/e', to('/a', { overwrite: 'F' }))
  await ada.expect(204, 'MOVE', '/e', to('/a'))
  t.equal(await contentOf(ada, '/a'), 'e')
  t.same(await namesIn(ada, '/'), ['a', 'c d'])
})

test('a folder is copied and moved with all that is in it', async (t) => {
  const ada = await connect()
  for (const folder of ['/f', '/f/g', '/other']) await ada.expect(201, 'MKCOL', folder)
  await ada.expect(201, 'PUT', '/f/g/a', { body: 'a' })
  await ada.expect(201, 'PUT', '/other/b', { body: 'b' })
  await ada.expect(201, 'COPY', '/f/', to('/h/'))
  t.equal(await contentOf(ada, '/h/g/a'), 'a')
  await ada.expect(204, 'COPY', '/f', to('/other'))
  t.same(await namesIn(ada, '/other'), ['g'], 'a folder that is replaced is gone as a whole')
  await ada.expect(204, 'MOVE', '/h', to('/other'))
  await ada.expect(201, 'COPY', '/f', to('/i', { depth: '0' }))
  t.same(await namesIn(ada, '/i'), [])
  await ada.expect(204, 'COPY', '/f', to('/other', { depth: '0' }))
  t.same(await namesIn(ada, '/other'), [])
  await ada.expect(204, 'COPY', '/f/g/a', to('/i'))
  t.equal(await contentOf(ada, '/i'), 'a', 'a file replaces a folder')
})

test('what cannot be copied or moved is refused', async (t) => {
  const ada = await connect()
  for (const folder of ['/f', '/f/g']) await ada.expect(201, 'MKCOL', folder)
  await ada.expect(201, 'PUT', '/a', { body: 'a' })
  for (const method of ['COPY', 'MOVE']) {
    await ada.expect(404, method, '/missing', to('/b'))
    await ada.expect(409, method, '/a', to('/missing/b'))
    await ada.expect(409, method, '/a', to('/a2/b'))
    await ada.expect(403, method, '/a', to('/a'))
    await ada.expect(403, method, '/f', to('/f/g/h'))
    await ada.expect(403, method, '/f/g', to('/f'))
    await ada.expect(403, method, '/', to('/x'))
    await ada.expect(403, method, '/f', to('/'))
    await ada.expect(400, method, '/a')
    await ada.expect(400, method, '/a', to('/b%2Fc'))
    await ada.expect(403, method, '/a', { headers: { destination: 'https://other.test/dav/b' } })
    await ada.expect(403, method, '/a', { headers: { destination: '/health' } })
    await ada.expect(400, method, '/a', to('/b', { overwrite: 'maybe' }))
    await ada.expect(400, method, '/f', to('/b', { depth: '1' }))
    await ada.expect(412, method, '/a', to('/b', { 'if-match': '"other"' }))
  }
  await ada.expect(400, 'MOVE', '/f', to('/b', { depth: '0' }))
  t.same(await namesIn(ada, '/'), ['a', 'f'])
})
