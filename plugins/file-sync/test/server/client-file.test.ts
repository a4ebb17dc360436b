import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'tap'
import manifest from '../../package.json' with { type: 'json' }
import { createSyncNode, withToken } from '../fixtures/sync-node.ts'

test('a device without a token gets the client, and its description has the hash of the file', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const ada = await withToken(node, await node.signIn(), ['files:read'])
  const described = (await (await ada.fetch('/api/sync/client')).json()) as Record<string, unknown>
  const answer = await node.fetch(String(described.path))
  t.equal(answer.headers.get('content-disposition'), `attachment; filename="${described.name}"`)
  const bytes = await answer.bytes()
  t.match(described, {
    version: manifest.version,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
  })
  t.equal(manifest.engines.node, `>=${described.node}`)

  const head = await node.fetch(String(described.path), { method: 'HEAD' })
  t.equal(Number(head.headers.get('content-length')), bytes.length)
  const same = { headers: { 'if-none-match': answer.headers.get('etag') ?? '' } }
  t.equal((await node.fetch(String(described.path), same)).status, 304)
})

test('the client is not taken from a name that is none of the node, and not without end', async (t) => {
  const node = await createSyncNode()
  t.teardown(() => node.stop())
  const url = new URL('/api/sync/client/nodekeep-sync.cjs', node.url)
  const foreign = await new Promise<string>((resolve, reject) => {
    const asked = request(url, { headers: { host: 'stranger.example' } }, async (answer) =>
      resolve(`${answer.statusCode} ${await text(answer)}`),
    )
    asked.on('error', reject).end()
  })
  t.match(foreign, /^400 .*does not go by the name/)
  const statuses = []
  while (statuses.length < 60) statuses.push((await node.fetch(url.pathname, { method: 'HEAD' })).status)
  t.ok(statuses.includes(429))
})
