import { randomBytes } from 'node:crypto'
import files from '@nodekeep/files'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import shares from '@nodekeep/shares'
import storageLocal from '@nodekeep/storage-local'
import { test } from 'tap'
import { askHttps, certificateFile } from './fixtures/https-client.ts'
import { knownNode } from './fixtures/known-node.ts'
import { startGateway, startTunnelNode } from './fixtures/tunnel.ts'

test('guests read and upload by a link through the tunnel, and the maker sees their network', async (t) => {
  const me = await knownNode(t)
  const tls = { cert: certificateFile('gateway', 'crt'), key: certificateFile('gateway', 'key') }
  const gateway = await startGateway(t, {
    gateway: { domain: 'example.test', tls, names: { me: me.nodeId } },
  })
  const name = 'me.example.test'
  const { node, log } = await startTunnelNode(t, gateway, {
    ...me,
    plugins: [files, storageLocal, shares],
    tunnel: { name: `${name}:${gateway.httpsPort}` },
  })
  await log.line(/^Clients reach the node at https:/)
  await log.line(/^Clients reach the node at http:/)
  const ada = await node.signIn('owner')
  const bytes = randomBytes(3_000_000)
  t.equal((await ada.fetch('/write?path=/party/a.bin', { method: 'PUT', body: bytes })).status, 200)
  const made = (await (
    await ada.fetch('/api/shares', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ path: '/party', kind: 'both' }),
    })
  ).json()) as NodeAnswers['POST /api/shares']
  const { origin, pathname } = new URL(made.url)
  t.equal(
    origin,
    `https://${name}:${gateway.httpsPort}`,
    'the address is the one by which others reach the node',
  )
  const secure = await askHttps({ port: gateway.httpsPort, name, of: 'gateway', path: pathname })
  t.match(secure, { status: 200, body: 'a.bin' })

  // A port of the gateway leads to the node without the encryption that the gateway ends.
  const url = `http://127.0.0.1:${gateway.firstPort}${pathname}`
  const get = (path: string, headers: Record<string, string> = {}) => fetch(`${url}${path}`, { headers })
  const page = await get('')
  t.equal(page.status, 200)
  t.match(await page.text(), 'a.bin')
  t.same(Buffer.from(await (await get('/file?path=/a.bin')).arrayBuffer()), bytes)
  const part = await get('/file?path=/a.bin', { range: 'bytes=1000000-1000009' })
  t.equal(part.status, 206)
  t.same(Buffer.from(await part.arrayBuffer()), bytes.subarray(1_000_000, 1_000_010))

  const form = new FormData()
  form.append('file', new File(['from a guest'], 'b.txt'))
  t.equal((await fetch(`${url}/drop`, { method: 'POST', body: form })).status, 200)
  t.equal(await (await ada.fetch('/read?path=/party/b.txt')).text(), 'from a guest')
  const uses = (await (
    await ada.fetch(`/api/shares/${made.id}/uses`)
  ).json()) as NodeAnswers['GET /api/shares/{id}/uses']
  t.match(new Set(uses.uses.map(({ network }) => network)), new Set(['127.0.0.0/24']))

  await ada.fetch(`/api/shares/${made.id}`, { method: 'DELETE' })
  t.equal((await get('')).status, 404)
})
