import t from 'tap'
import { createIpfsNode, post, publications, publish, put, withdraw } from '../fixtures/ipfs-node.ts'

t.test('two users publish the same bytes, and each withdraws only their own', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const content = new Uint8Array(2_500_000).map((_, index) => index % 199)
  await put(ada, '/mine', content)
  await put(bob, '/his/copy', content)
  const mine = await publish(ada, '/mine')
  const his = await publish(bob, '/his/copy')
  t.equal(his.cid, mine.cid)
  t.equal((await withdraw(ada, his.id)).status, 404)
  t.equal((await withdraw(ada, mine.id)).status, 200)
  t.same(await publications(ada), { publications: [], bytes: 0 })
  t.match(await publications(bob), { publications: [{ id: his.id, state: 'published' }] })
  const read = await node.fetch(`/ipfs/${his.cid}`)
  t.same(new Uint8Array(await read.arrayBuffer()), content)
  t.equal((await withdraw(bob, his.id)).status, 200)
  t.equal((await node.fetch(`/ipfs/${his.cid}`)).status, 404)
})

t.test('bytes that publications have in common count once', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/folder/file', new Uint8Array(5000))
  await publish(ada, '/folder/file')
  t.equal((await publications(ada)).bytes, 5000)
  await publish(ada, '/folder')
  const { bytes } = await publications(ada)
  t.ok(bytes > 5000 && bytes < 5200, `${bytes} bytes`)
})

t.test('the scope "ipfs" publishes, and no other scope does', async (t) => {
  const node = await createIpfsNode()
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/a', 'a')
  const tokenWith = async (scope: string) => {
    const answer = await post(ada, '/api/account/tokens', { name: scope, scopes: [scope] })
    return ((await answer.json()) as { token: string }).token
  }
  const publishWith = async (scope: string) => {
    const answer = await node.fetch('/api/ipfs/publish', {
      method: 'POST',
      body: JSON.stringify({ path: '/a' }),
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await tokenWith(scope)}` },
    })
    return answer.status
  }
  t.equal(await publishWith('ipfs'), 200)
  t.equal(await publishWith('files:read'), 403)
})

t.test('answers about a file name its CID while it has what is published', async (t) => {
  const config = { storage: { mounts: { '/blocks': 'ipfs' } } }
  const node = await createIpfsNode({ config })
  t.teardown(() => node.stop())
  const [ada, bob] = [await node.signIn(), await node.signIn()]
  const cidOf = async (user: typeof ada, path: string) => {
    const [stat, read] = await Promise.all(
      ['stat', 'read'].map((route) => user.fetch(`/${route}?path=${encodeURIComponent(path)}`)),
    )
    const cid = stat?.headers.get('x-ipfs-cid')
    t.equal(read?.headers.get('x-ipfs-cid'), cid)
    await Promise.all([stat?.body?.cancel(), read?.body?.cancel()])
    return cid
  }
  await put(ada, '/a', 'a')
  t.equal(await cidOf(ada, '/a'), null)
  const { cid, id } = await publish(ada, '/a')
  t.equal(await cidOf(ada, '/a'), cid)
  await put(bob, '/a', 'a')
  t.equal(await cidOf(bob, '/a'), null, 'not published by him')
  await put(ada, '/a', 'other')
  t.equal(await cidOf(ada, '/a'), null)
  await publish(ada, '/a')
  t.type(await cidOf(ada, '/a'), 'string')
  await withdraw(ada, id)
  await put(ada, '/blocks/b', 'a')
  t.equal(await cidOf(ada, '/blocks/b'), cid, 'a file of the backend has one without being published')
  t.equal((await node.fetch(`/ipfs/${cid}`)).status, 404, 'and is not public by that')
})

t.test(
  'what is withdrawn while somebody reads it is not cut or mixed, and nobody else can begin',
  async (t) => {
    const node = await createIpfsNode()
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    // More than the buffers between node and client have room for.
    const content = new Uint8Array(40 * 1024 * 1024).map((_, index) => (index >> 12) % 253)
    await put(ada, '/large', content)
    const { cid, id } = await publish(ada, '/large')
    const reading = await node.fetch(`/ipfs/${cid}`)
    const chunks: Uint8Array[] = []
    for await (const chunk of reading.body ?? []) {
      if (chunks.push(chunk) > 1) continue
      t.equal((await withdraw(ada, id)).status, 200)
      t.equal((await node.fetch(`/ipfs/${cid}`)).status, 404)
    }
    t.ok(Buffer.concat(chunks).equals(content), 'the reading that had begun has all of it')
  },
)
