import t from 'tap'
import { createIpfsNode, post, publications, publish, put, states, withdraw } from '../fixtures/ipfs-node.ts'

t.test('a file and a folder are published, listed and withdrawn', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/notes/a.txt', 'hello world')
  await put(ada, '/notes/deep/b.txt', 'other')
  const file = await publish(ada, '/notes/a.txt')
  // A raw block, as every implementation makes it of these bytes with this profile.
  t.match(file, {
    path: '/notes/a.txt',
    cid: 'bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e',
    size: 11,
    files: 1,
    url: '/ipfs/bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e?filename=a.txt',
  })
  const folder = await publish(ada, '/notes')
  t.match(folder, { path: '/notes', size: 16, files: 2, url: `/ipfs/${folder.cid}` })
  t.same((await publish(ada, '/notes')).id, folder.id, 'the same content is the same publication')
  const read = async (path: string) => (await node.fetch(path)).text()
  t.equal(await read(`/ipfs/${file.cid}`), 'hello world')
  t.equal(await read(`/ipfs/${folder.cid}/deep/b.txt`), 'other')
  const listed = await publications(ada)
  t.match(listed.publications, [
    { ...folder, state: 'published' },
    { ...file, state: 'published' },
  ])
  t.same((await withdraw(ada, file.id)).status, 200)
  t.same((await withdraw(ada, file.id)).status, 404)
  t.same(await states(ada), { '/notes': 'published' })
  t.equal(await read(`/ipfs/${file.cid}`), 'hello world', 'the folder has it still')
  t.same((await withdraw(ada, folder.id)).status, 200)
  for (const cid of [file.cid, folder.cid]) t.equal((await node.fetch(`/ipfs/${cid}`)).status, 404)
  t.ok(listed.bytes > 16)
})

t.test('the list tells what became of the paths', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  for (const name of ['a', 'b', 'c', 'd']) await put(ada, `/${name}/x`, name)
  for (const path of ['/a', '/b', '/c', '/d', '/a/x', '/b/x']) await publish(ada, path)
  await put(ada, '/a/x', 'changed')
  await post(ada, '/move', { source: '/b', destination: '/e' })
  await post(ada, '/move', { source: '/d', destination: '/f' })
  await post(ada, '/move', { source: '/f', destination: '/d' })
  await put(ada, '/cc/x', 'a neighbor')
  t.same(await states(ada), {
    '/a': 'changed',
    '/a/x': 'changed',
    '/b': 'gone',
    '/b/x': 'gone',
    '/c': 'published',
    '/d': 'changed',
  })
  await publish(ada, '/d')
  t.match(await states(ada), { '/d': 'published' })
})
