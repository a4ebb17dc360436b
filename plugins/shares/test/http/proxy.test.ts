import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { NodeAnswers } from '@nodekeep/plugin-sdk/node-answers'
import { test } from 'tap'
import { call, createShareNode, put } from '../fixtures/share-node.ts'

test('behind a proxy, links have the public address, and each guest counts by their own one', async (t) => {
  const server = { publicUrl: 'https://cloud.example.org', trustedProxies: ['127.0.0.1'] }
  const node = await createShareNode({ config: { server } })
  t.teardown(() => node.stop())
  const ada = await node.signIn()
  await put(ada, '/p/a.txt', 'content')
  const wishes = { path: '/p', kind: 'read', password: 'right' }
  const made = await call<NodeAnswers['POST /api/shares']>(ada, 'POST', '/api/shares', wishes)
  t.match(made.url, /^https:\/\/cloud\.example\.org\/s\/[\w-]+$/)
  const { pathname } = new URL(made.url)

  const proxy = await startProxy(node.url)
  t.teardown(() => proxy.close())
  const enter = async (guest: string, password: string) => {
    const body = new URLSearchParams({ password })
    const headers = { 'x-guest': guest }
    const init = { method: 'POST', headers, body, redirect: 'manual' } as const
    return fetch(new URL(`${pathname}/password`, proxy.url), init)
  }
  const entered = await enter('203.0.113.7', 'right')
  t.equal(entered.status, 303)
  t.match(entered.headers.get('set-cookie'), /; HttpOnly; SameSite=Lax; Secure$/)
  const headers = {
    'x-guest': '203.0.113.7',
    cookie: entered.headers.get('set-cookie')?.split(';')[0] ?? '',
    range: 'bytes=3-',
  }
  const part = await fetch(new URL(`${pathname}/file?path=/a.txt`, proxy.url), { headers })
  t.strictSame([part.status, await part.text()], [206, 'tent'])
  const answer = await ada.fetch(`/api/shares/${made.id}/uses`)
  const { uses } = (await answer.json()) as NodeAnswers['GET /api/shares/{id}/uses']
  t.strictSame([...new Set(uses.map(({ network }) => network))], ['203.0.113.0/24'])

  for (let wrong = 0; wrong < 10; wrong += 1) t.equal((await enter('198.51.100.1', 'wrong')).status, 401)
  t.equal((await enter('198.51.100.1', 'right')).status, 429)
  t.equal((await enter('203.0.113.7', 'right')).status, 303, 'another guest is not held up')
})

/**
 * Passes requests on as `proxy_pass` of nginx does, with the address of the guest, and as if they had come by https. The guest is named by
 * the header `x-guest`.
 */
async function startProxy(target: URL): Promise<{ readonly url: URL; close(): void }> {
  const server = createServer(async (incoming, outgoing) => {
    const { 'x-guest': guest, ...headers } = incoming.headers
    const forwarded = {
      ...headers,
      host: 'cloud.example.org',
      'x-forwarded-for': String(guest),
      'x-forwarded-proto': 'https',
    }
    const passed = request(new URL(incoming.url ?? '/', target), {
      method: incoming.method ?? 'GET',
      headers: forwarded,
    })
    const [[answer]] = await Promise.all([once(passed, 'response'), pipeline(incoming, passed)])
    outgoing.writeHead(answer.statusCode, answer.headers)
    await pipeline(answer, outgoing)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: new URL(`http://127.0.0.1:${port}`),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
