import { METHODS } from 'node:http'
import { createTestNode } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

/** CONNECT makes no request: see the malformed ones. */
const methods = METHODS.filter((method) => method !== 'CONNECT')

test('every method that a path does not take gets 405 with what it takes', async (t) => {
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
    checkError(t, await connection.answer(method), 'NOT_FOUND', `${method} to nothing`)
  }
  connection.send(rawRequest('OPTIONS', '*'))
  checkError(t, await connection.answer(), 'NOT_FOUND', 'OPTIONS *')
})

test('a wrong method or path is told before the body is looked at', async (t) => {
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

test('HEAD is GET without the body, for answers and for errors', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  for (const path of ['/open', '/mine', '/nothing', '/json', '/%zz', '/health', '/whoami', '/openapi.json']) {
    connection.send(rawRequest('HEAD', path))
    const head = await connection.answer('HEAD')
    // Were there a body after the head, this answer could not be read.
    connection.send(rawRequest('GET', path))
    const get = await connection.answer()
    t.equal(head.status, get.status, path)
    t.equal(head.headers['content-type'], get.headers['content-type'], path)
  }
})
