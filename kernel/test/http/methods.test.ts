import { METHODS } from 'node:http'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

/** CONNECT is tested with the malformed requests: it never becomes a request. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

test('a method that a path does not support gets 405 and the list of its methods', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  for (const method of methods.filter((name) => name !== 'GET' && name !== 'HEAD')) {
    connection.send(rawRequest(method, '/open'))
    const answer = await connection.answer(method)
    checkError(t, answer, 'METHOD_NOT_ALLOWED', method)
    t.equal(answer.headers.allow, 'GET, HEAD')
    connection.send(rawRequest(method, '/nothing'))
    const nothing = await connection.answer(method)
    checkError(t, nothing, 'NOT_FOUND', `${method} to nothing`)
    t.equal(nothing.headers['nodekeep-route'], 'none')
    t.equal(answer.headers['nodekeep-route'], undefined)
  }
  connection.send(rawRequest('OPTIONS', '*'))
  checkError(t, await connection.answer(), 'NOT_FOUND', 'OPTIONS *')
})

test('the node answers a wrong method or path before it reads the body', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const broken = { 'content-type': 'application/json' }
  connection.send(rawRequest('PUT', '/open', broken, '{"a":'))
  checkError(t, await connection.answer(), 'METHOD_NOT_ALLOWED')
  connection.send(rawRequest('POST', '/nothing', broken, '{"a":'))
  checkError(t, await connection.answer(), 'NOT_FOUND')
  connection.send(rawRequest('POST', '/nothing', { 'content-type': ';;' }, 'a'))
  checkError(t, await connection.answer(), 'NOT_FOUND')
})

test('HEAD gets the answers and errors of GET without the body', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  for (const path of ['/open', '/mine', '/nothing', '/json', '/%zz', '/health', '/whoami', '/openapi.json']) {
    connection.send(rawRequest('HEAD', path))
    const head = await connection.answer('HEAD')
    // If a body followed the head, this answer would be unreadable.
    connection.send(rawRequest('GET', path))
    const get = await connection.answer()
    t.equal(head.status, get.status, path)
    t.equal(head.headers['content-type'], get.headers['content-type'], path)
  }
})

const visits = definePlugin({
  id: 'visits',
  setup({ routes }) {
    const config = { access: 'public', publicReason: 'It is there for a test.' } as const
    routes(
      (app) => {
        app.get('/', { config }, async () => ({ visits: 1 }))
        app.post('/', { config }, async () => ({ visits: 2 }))
        app.get('/:id', { config }, async () => ({ visit: 1 }))
      },
      { prefix: '/api/visits' },
    )
    routes(
      (app) => {
        app.get('/', { config, prefixTrailingSlash: 'no-slash' }, async () => 'without')
        app.register(async (inner) => {
          inner.get('/', { config, prefixTrailingSlash: 'slash' }, async () => 'with')
        })
      },
      { prefix: '/apart' },
    )
    routes((app) => void app.get('', { config }, async () => 'bare'), { prefix: '/bare' })
  },
})

test('the route "/" below a prefix answers with and without a trailing slash, as in Fastify', async (t) => {
  const node = await createTestNode({ plugins: [visits] })
  t.teardown(() => node.stop())
  for (const path of ['/api/visits', '/api/visits/']) {
    t.strictSame(await (await node.fetch(path)).json(), { visits: 1 }, `GET ${path}`)
    t.strictSame(await (await node.fetch(path, { method: 'POST' })).json(), { visits: 2 }, `POST ${path}`)
    t.equal((await node.fetch(path, { method: 'HEAD' })).status, 200, `HEAD ${path}`)
    const wrong = await node.fetch(path, { method: 'PUT' })
    t.equal(wrong.status, 405)
    t.equal(wrong.headers.get('allow'), 'GET, HEAD, POST', path)
  }
  t.equal(await (await node.fetch('/apart')).text(), 'without')
  t.equal(await (await node.fetch('/apart/')).text(), 'with')
  t.equal(await (await node.fetch('/bare')).text(), 'bare')
  t.equal((await node.fetch('/bare/')).status, 404)
  const user = await node.signIn()
  const { paths } = (await (await user.fetch('/openapi.json')).json()) as { paths: object }
  t.ok('/api/visits' in paths)
  t.notOk('/api/visits/' in paths, 'OpenAPI has the path once')
})
