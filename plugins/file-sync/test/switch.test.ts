import { randomBytes } from 'node:crypto'
import { test } from 'tap'
import { begin, connect } from './fixtures/sync-client.ts'
import { createSyncNode, put, send } from './fixtures/sync-node.ts'

test('the plugin is disabled while clients are connected, and enabled again', async (t) => {
  const lines: string[] = []
  const node = await createSyncNode({
    config: { plugins: { 'file-sync': { required: false } } },
    logLevel: 'warn',
    onLog: (line) => lines.push(line),
  })
  t.teardown(() => node.stop())
  const owner = await node.signIn('owner')
  const client = await connect(t, node, owner)
  const { device, epoch, cursor } = await begin(client)
  const revision = await put(owner, '/large', randomBytes(30_000_000))
  const hashes = { files: [{ path: '/large', revision }] }
  const asked = send(owner, 'POST', '/api/sync/hashes', hashes)
  t.match(await send(owner, 'POST', '/api/system/plugins/file-sync/disable'), { status: 200 })
  await client.closed
  t.match((await asked).status, /200|404|503/)
  t.match(await send(owner, 'GET', '/api/sync/devices'), { status: 404 })

  t.match(await send(owner, 'POST', '/api/system/plugins/file-sync/enable'), { status: 200 })
  const again = await connect(t, node, owner)
  again.say({ type: 'hello', protocol: 1, device, epoch, cursor })
  t.equal((await again.next('welcome')).device, device)
  t.match((await again.next('changes')).changes, [{ path: '/large' }])
  t.match((await send(owner, 'POST', '/api/sync/hashes', hashes)).body.hashes, [{ sha256: String }])
  t.same(lines, [], 'nothing failed')
})
