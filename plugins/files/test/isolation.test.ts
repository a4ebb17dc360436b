import t from 'tap'
import { createFilesNode, get, post, put, upload } from './fixtures/files-node.ts'

t.test("two users never see each other's files", async (t) => {
  const node = await createFilesNode({ mounts: { '/memory': 'memory' } })
  t.teardown(() => node.stop())
  const ada = await node.signIn('owner')
  const bob = await node.signIn()
  for (const folder of ['/docs', '/memory/docs']) {
    await put(ada, `${folder}/secret`, "Ada's")
    const path = `${folder}/secret`
    const attempts = [
      get(bob, 'read', path),
      get(bob, 'read', path, { method: 'HEAD' }),
      get(bob, 'read', path, { headers: { range: 'bytes=0-1' } }),
      get(bob, 'stat', path),
      get(bob, 'readdir', folder),
      post(bob, 'delete', { path }),
      post(bob, 'delete', { path: folder }),
      post(bob, 'move', { source: path, destination: '/mine' }),
      get(bob, 'read', `/${ada.user.uuid}${path}`),
      get(bob, 'readdir', `/${ada.user.uuid}`),
      get(bob, 'read', `/../${ada.user.uuid}${path}`),
    ]
    for (const answer of await Promise.all(attempts)) t.ok([400, 404].includes(answer.status), answer.url)

    for (const store of [put, upload]) {
      t.equal((await store(bob, path, "Bob's", { 'if-none-match': '*' })).status, 200)
      t.equal(await (await get(ada, 'read', path)).text(), "Ada's")
      t.equal(await (await get(bob, 'read', path)).text(), "Bob's")
      t.equal((await post(bob, 'delete', { path })).status, 200)
    }
    t.equal((await post(bob, 'mkdir', { path: `${folder}/inner` })).status, 200)
    t.match(await (await get(ada, 'readdir', folder)).json(), [{ name: 'secret' }])
  }
  const names = ((await (await get(bob, 'readdir', '/')).json()) as { name: string }[]).map(
    ({ name }) => name,
  )
  t.strictSame(names, ['docs', 'memory'])
})
