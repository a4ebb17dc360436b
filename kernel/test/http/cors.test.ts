import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { checkError, checkErrorResponse } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const app = 'https://app.test'
const preflight = {
  'access-control-request-method': 'DELETE',
  'access-control-request-headers': 'authorization, content-type',
}

function corsHeaders(answer: { headers: Headers }): string[] {
  return [...answer.headers.keys()].filter((name) => name.startsWith('access-control-'))
}

test('no answer has CORS headers by default', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  for (const [method, path] of [
    ['GET', '/open'],
    ['GET', '/mine'],
    ['OPTIONS', '/open'],
    ['OPTIONS', '/nothing'],
  ] as const) {
    connection.send(rawRequest(method, path, { origin: app, ...preflight }))
    const { headers } = await connection.answer()
    t.same(
      Object.keys(headers).filter((name) => name.startsWith('access-control-')),
      [],
      `${method} ${path}`,
    )
  }
})

test('a page of a configured origin may call routes and read errors', async (t) => {
  const node = await createTestNode({ plugins: [probe], config: { server: { cors: { origins: [app] } } } })
  t.teardown(() => node.stop())
  const ask = (path: string, init: RequestInit = {}) =>
    node.fetch(path, { ...init, headers: { origin: app, ...init.headers } })

  for (const path of ['/open', '/mine', '/nothing', '/whoami']) {
    const answer = await ask(path)
    t.equal(answer.headers.get('access-control-allow-origin'), app, path)
    t.equal(answer.headers.get('access-control-allow-credentials'), 'true')
    const exposed = answer.headers.get('access-control-expose-headers')
    for (const name of ['x-request-id', 'upload-offset', 'tus-resumable', 'location', 'x-nodekeep-undo'])
      t.match(exposed, name)
    t.match(answer.headers.get('vary'), /Origin/)
  }
  await checkErrorResponse(t, await ask('/open', { method: 'POST' }), 'METHOD_NOT_ALLOWED')

  const asked = await ask('/mine', { method: 'OPTIONS', headers: preflight })
  t.equal(asked.status, 204)
  t.equal(asked.headers.get('access-control-allow-origin'), app)
  t.match(asked.headers.get('access-control-allow-methods'), /DELETE/)
  t.equal(asked.headers.get('access-control-allow-headers'), preflight['access-control-request-headers'])
  t.match(asked.headers.get('x-request-id'), /-/)
  t.match(asked.headers.get('vary'), /Origin/)

  const stray = await ask('/open', { method: 'OPTIONS' })
  t.equal(stray.headers.get('access-control-allow-origin'), app)
  await checkErrorResponse(t, stray, 'METHOD_NOT_ALLOWED', 'OPTIONS that is no preflight')
})

test('every notation of an origin in the configuration counts', async (t) => {
  for (const written of [`${app}/`, 'HTTPS://App.Test', `${app}:443`]) {
    const config = { server: { cors: { origins: [written] } } }
    const node = await createTestNode({ plugins: [probe], config })
    t.teardown(() => node.stop())
    const asked = await node.fetch('/mine', { method: 'OPTIONS', headers: { origin: app, ...preflight } })
    t.equal(asked.status, 204, written)
    t.equal(asked.headers.get('access-control-allow-origin'), app, written)
  }
})

test('a page of a configured origin can read the errors of a late and of a broken body', async (t) => {
  const node = await createTestNode({
    plugins: [probe],
    config: { server: { cors: { origins: [app] }, bodyTimeoutSeconds: 0.2 } },
  })
  t.teardown(() => node.stop())
  const headers = { origin: app, 'content-type': 'application/json' }
  for (const [name, bytes, code] of [
    ['late', rawRequest('POST', '/json', { ...headers, 'content-length': '9' }, '{'), 'REQUEST_TIMEOUT'],
    [
      'broken',
      `${rawRequest('POST', '/json', { ...headers, 'transfer-encoding': 'chunked' })}zz`,
      'VALIDATION_ERROR',
    ],
  ] as const) {
    const connection = rawConnection(node.url)
    connection.send(bytes)
    const answer = await connection.answer()
    checkError(t, answer, code, name)
    t.equal(answer.headers['access-control-allow-origin'], app)
    connection.close()
  }
})

test('answers to other origins have no CORS headers', async (t) => {
  const node = await createTestNode({ plugins: [probe], config: { server: { cors: { origins: [app] } } } })
  t.teardown(() => node.stop())
  const origins = [
    'https://evil.test',
    'https://app.test.evil.test',
    'http://app.test',
    'https://APP.test',
    'null',
  ]
  for (const origin of origins) {
    const answer = await node.fetch('/open', { headers: { origin } })
    t.same([answer.status, corsHeaders(answer)], [200, []], origin)
    t.match(answer.headers.get('vary'), /Origin/, 'a cache keeps the answers to different origins apart')
    const asked = await node.fetch('/open', { method: 'OPTIONS', headers: { origin, ...preflight } })
    t.same(corsHeaders(asked), [], `${origin}: preflight`)
    await checkErrorResponse(t, asked, 'METHOD_NOT_ALLOWED')
  }
  const own = await node.fetch('/open')
  t.same([own.status, corsHeaders(own)], [200, []], 'no origin at all')
})

test('only pages of the configured origin may write with a cookie', async (t) => {
  const node = await createTestNode({ plugins: [probe], config: { server: { cors: { origins: [app] } } } })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const change = (headers: Record<string, string>) =>
    node.fetch('/mine', { method: 'POST', headers: { cookie: `session=${token}`, ...headers } })
  t.equal((await change({ origin: app, 'sec-fetch-site': 'cross-site' })).status, 200)
  const foreign = await change({ origin: 'https://evil.test', 'sec-fetch-site': 'cross-site' })
  await checkErrorResponse(t, foreign, 'FORBIDDEN')
})
