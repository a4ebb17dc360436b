import { randomBytes } from 'node:crypto'
import t from 'tap'
import { createIpfsNode, publish, put, withdraw } from '../fixtures/ipfs-node.ts'

t.test(
  'a published folder is read by strangers, taken in by another user, and has the same CID there',
  async (t) => {
    const node = await createIpfsNode({ config: { storage: { mounts: { '/': 'memory' } } } })
    t.teardown(() => node.stop())
    const ada = await node.signIn()
    const large = randomBytes(2 * 1024 * 1024 + 7)
    await put(ada, '/trip/Füße & <more>.txt', 'text')
    await put(ada, '/trip/deep/large.bin', large)
    await put(ada, '/trip/empty', '')
    await put(ada, '/secret.txt', 'not published')
    const { id, cid } = await publish(ada, '/trip')

    const text = await node.fetch(`/ipfs/${cid}/${encodeURIComponent('Füße & <more>.txt')}`)
    t.equal(await text.text(), 'text')
    const part = await node.fetch(`/ipfs/${cid}/deep/large.bin`, {
      headers: { range: 'bytes=1048570-1048580' },
    })
    t.equal(part.status, 206)
    t.ok(Buffer.from(await part.arrayBuffer()).equals(large.subarray(1048570, 1048581)))
    const car = await node.fetch(`/ipfs/${cid}?format=car`)
    t.equal(car.status, 200)

    const bob = await node.signIn()
    const headers = { 'content-type': 'application/vnd.ipld.car' }
    const init = { method: 'POST', headers, body: await car.arrayBuffer() }
    const imported = await bob.fetch('/api/ipfs/import?path=/&name=copy', init)
    t.same(await imported.json(), { path: '/copy', cid, files: 3, bytes: large.length + 4, symlinks: 0 })
    t.ok(Buffer.from(await (await bob.fetch('/read?path=/copy/deep/large.bin')).arrayBuffer()).equals(large))
    const copy = await publish(bob, '/copy')
    t.equal(copy.cid, cid)

    t.equal((await withdraw(ada, id)).status, 200)
    t.equal((await node.fetch(`/ipfs/${cid}/empty`)).status, 200, 'the other user still publishes it')
    t.equal((await withdraw(bob, copy.id)).status, 200)
    t.equal((await node.fetch(`/ipfs/${cid}/empty`)).status, 404)
  },
)
