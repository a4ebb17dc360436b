import { setTimeout as wait } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

test('pipelined requests get independent answers in order', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const { token } = await node.signIn()
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  connection.send(
    rawRequest('GET', '/slow') +
      rawRequest('GET', '/mine', { authorization: `Bearer ${token}` }) +
      rawRequest('GET', '/mine') +
      rawRequest('GET', '/nothing') +
      rawRequest('POST', '/json', { 'content-type': 'application/json' }, '{"a"') +
      rawRequest('POST', '/json', { 'content-type': 'application/json' }, '{"a":1}') +
      rawRequest('HEAD', '/open') +
      rawRequest('GET', '/open'),
  )
  t.match(await connection.answer(), { status: 200, body: '{"slow":true}' })
  t.match(await connection.answer(), { status: 200, body: '{"username":' })
  checkError(
    t,
    await connection.answer(),
    'UNAUTHORIZED',
    'the session of one request is not that of the next',
  )
  checkError(t, await connection.answer(), 'NOT_FOUND')
  checkError(t, await connection.answer(), 'VALIDATION_ERROR')
  t.match(await connection.answer(), { status: 200, body: '{"body":{"a":1}}' })
  t.match(await connection.answer('HEAD'), { status: 200, body: '' })
  t.match(await connection.answer(), { status: 200, body: '{"open":true}' })
})

test('malformed bytes get their answer after the requests before them', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(`${rawRequest('GET', '/slow') + rawRequest('GET', '/open')}nonsense\r\n\r\n`)
  t.match(await connection.answer(), { status: 200, body: '{"slow":true}' })
  t.match(await connection.answer(), { status: 200, body: '{"open":true}' })
  checkError(t, await connection.answer(), 'VALIDATION_ERROR')
  connection.socket.end()
  t.equal(await connection.ended(), '')
})

test('a broken body fails its own request, in its order', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const chunked = { 'content-type': 'application/octet-stream', 'transfer-encoding': 'chunked' }
  for (const path of ['/upload', '/ignored', '/mine']) {
    const connection = rawConnection(node.url)
    connection.send(`${rawRequest('GET', '/slow')}${rawRequest('POST', path, chunked)}3\r\nabc\r\nzz\r\n`)
    t.match(await connection.answer(), { status: 200, body: '{"slow":true}' })
    const answer = await connection.answer()
    if (path === '/upload') checkError(t, answer, 'VALIDATION_ERROR', path)
    else t.equal(answer.status, path === '/ignored' ? 200 : 401, path)
    connection.socket.end()
    t.equal(await connection.ended(), '', `${path}: nothing follows`)
  }
})

test('a route that reads its body late gets the error of a broken body', async (t) => {
  const late = definePlugin({
    id: 'late',
    setup({ routes }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'A test.' } as const
        app.post('/late', { config, onRequest: () => wait(20) }, async ({ body }) => ({ body }))
      })
    },
  })
  const node = await createTestNode({ plugins: [late] })
  t.teardown(() => node.stop())
  const chunked = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
  for (const before of ['', rawRequest('GET', '/nothing')]) {
    const connection = rawConnection(node.url)
    connection.send(`${before}${rawRequest('POST', '/late', chunked)}3\r\n[1,\r\nzz\r\n`)
    if (before !== '') checkError(t, await connection.answer(), 'NOT_FOUND')
    checkError(t, await connection.answer(), 'VALIDATION_ERROR')
    connection.socket.end()
    t.equal(await connection.ended(), '')
  }
})

test('requests after one that closes the connection do not begin', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(rawRequest('GET', '/open', { connection: 'close' }) + rawRequest('GET', '/open'))
  t.equal((await connection.answer()).status, 200)
  t.equal(await connection.ended(), '')
})
