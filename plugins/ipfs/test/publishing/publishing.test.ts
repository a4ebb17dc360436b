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
    url: `/ipfs/${file.cid}?filename=a.txt`,
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

t.test(
  'the address has the name of a file, so that it is shown by its type and saved as what it is',
  async (t) => {
    const node = await createIpfsNode({ config: { server: { publicUrl: 'https://me.example.org' } } })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    for (const [name, shown] of [
      ['a&b #1?.txt', 'inline; filename="a&b #1?.txt"'],
      ['ü 100%.html', encodeURIComponent('ü 100%.html')],
    ] as const) {
      await put(ada, `/folder/${name}`, name)
      const { url, cid } = await publish(ada, `/folder/${name}`)
      const { origin, pathname, search } = new URL(url)
      t.same([origin, pathname], ['https://me.example.org', `/ipfs/${cid}`])
      const answer = await node.fetch(`${pathname}${search}`)
      t.match(answer.headers.get('content-disposition'), shown)
      t.equal(await answer.text(), name)
    }
    const { url, cid } = await publish(ada, '/folder')
    t.equal(url, `https://me.example.org/ipfs/${cid}`)
    t.same(
      (await publications(ada)).publications.map((publication) => publication.url?.split('?')[0]),
      (await publications(ada)).publications.map(({ cid }) => `https://me.example.org/ipfs/${cid}`),
    )
  },
)

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
