import t from 'tap'
import { begin, upload } from './fixtures/guest-uploads.ts'
import { call, createShareNode, link, put } from './fixtures/share-node.ts'

t.test('the log has no secret of a link, and no password', async (t) => {
  const lines: string[] = []
  const node = await createShareNode({ onLog: (line) => lines.push(line), logLevel: 'debug' })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/a/x.txt', 'x')
  const { path } = await link(ada, '/a', { kind: 'both', maxFiles: 1 })
  const locked = await link(ada, '/a', { password: 'open sesame' })
  const enter = (password: string) =>
    node.fetch(`${locked.path}/password`, { method: 'POST', body: new URLSearchParams({ password }) })
  const statuses = [
    (await node.fetch(`${path}/file?path=/x.txt`, { headers: { 'sec-fetch-dest': 'script' } })).status,
    (await node.fetch(`${path}/file?path=/none`)).status,
    (await node.fetch(locked.path)).status,
    (await enter('open sesame')).status,
    await upload(node, path, 'y.txt', 'y'),
    (await begin(node, path, 'z.txt', 1)).status,
    // No route has these.
    (await node.fetch(`${path}/x`)).status,
    (await node.fetch(path, { method: 'DELETE' })).status,
  ]
  for (let wrong = 0; wrong < 11; wrong += 1) statuses.push((await enter('wrong sesame')).status)
  t.strictSame(new Set(statuses), new Set([403, 404, 401, 204, 507, 405, 429]))
  await call(ada, 'POST', '/delete', { path: '/a' })
  const secrets = [path, locked.path].map((address) => address.slice('/s/'.length))
  for (const secret of [...secrets, 'sesame'])
    t.notOk(
      lines.some((line) => line.includes(secret)),
      secret,
    )
  t.ok(
    lines.some((line) => line.includes('"path":"/s/:token/file"')),
    'its requests are in the log',
  )
  t.ok(
    lines.some((line) => line.includes('"path":"/s/:long/x"')),
    'those without a route, too',
  )
})
