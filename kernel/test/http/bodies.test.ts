import { createTestNode } from '@nodekeep/kernel/testing'
import type { ErrorCode } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const json = { 'content-type': 'application/json' }

/** Bodies that a JSON route refuses. */
const refused: readonly (readonly [
  name: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  code: ErrorCode,
])[] = [
  ['malformed JSON', json, '{"a":', 'VALIDATION_ERROR'],
  ['two values', json, '{}{}', 'VALIDATION_ERROR'],
  ['an empty body', { ...json, 'content-length': '0' }, '', 'VALIDATION_ERROR'],
  ['NaN', json, '{"a":NaN}', 'VALIDATION_ERROR'],
  ['a prototype', json, '{"__proto__":{"admin":true}}', 'VALIDATION_ERROR'],
  ['a prototype in depth', json, '{"a":[{"b":{"__proto__":1}}]}', 'VALIDATION_ERROR'],
  ['a prototype in escapes', json, '{"\\u005f_proto__":{"admin":true}}', 'VALIDATION_ERROR'],
  ['a constructor', json, '{"constructor":{"prototype":{"admin":true}}}', 'VALIDATION_ERROR'],
  ['brackets without end', json, '['.repeat(9000), 'VALIDATION_ERROR'],
  ['plain text', { 'content-type': 'text/plain' }, '{}', 'UNSUPPORTED_MEDIA_TYPE'],
  ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b', 'UNSUPPORTED_MEDIA_TYPE'],
  ['XML', { 'content-type': 'application/xml' }, '<a/>', 'UNSUPPORTED_MEDIA_TYPE'],
  ['no content type', {}, '{}', 'UNSUPPORTED_MEDIA_TYPE'],
  ['a broken content type', { 'content-type': ';;;' }, '{}', 'UNSUPPORTED_MEDIA_TYPE'],
  ['almost JSON', { 'content-type': 'application/jsonx' }, '{}', 'UNSUPPORTED_MEDIA_TYPE'],
  ['a little too much', json, JSON.stringify('a'.repeat(10_000)), 'PAYLOAD_TOO_LARGE'],
]

test('a connection stays usable after a JSON route refuses a body', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  for (const [name, headers, body, code] of refused) {
    connection.send(rawRequest('POST', '/json', headers, body))
    checkError(t, await connection.answer(), code, name)
    connection.send(rawRequest('POST', '/json', json, '{"a":1}'))
    t.match(await connection.answer(), { status: 200, body: '{"body":{"a":1}}' }, `after ${name}`)
  }
  t.equal(({} as { admin?: unknown }).admin, undefined)
})

test('a schema takes a body literally, and the error names every fault', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  const messages: string[] = []
  for (const body of ['{"count":"1"}', '{"count":1,"extra":2}', '{}', '[]', 'null', '"text"', '1e999']) {
    connection.send(rawRequest('POST', '/typed', json, body))
    const answer = await connection.answer()
    checkError(t, answer, 'VALIDATION_ERROR', body)
    messages.push(JSON.parse(answer.body).message)
  }
  t.same(messages.slice(0, 4), [
    'Invalid input: "count" in the body must be a whole number, but is a string.',
    'Invalid input: "extra" in the body is not a known key. Known here: count.',
    'Invalid input: "count" in the body is missing.',
    'Invalid input: the body must be an object, but is an array.',
  ])
  connection.send(rawRequest('POST', '/typed'))
  checkError(t, await connection.answer(), 'VALIDATION_ERROR', 'no body at all')
  connection.send(rawRequest('POST', '/typed', json, '{"count":1}'))
  t.match(await connection.answer(), { status: 200, body: '{"count":1}' })
})

test('the node refuses a large body by its announced length, or as soon as it exceeds the limit', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())

  const announced = rawConnection(node.url)
  announced.send(rawRequest('POST', '/json', { ...json, 'content-length': '1000000000' }, '{'))
  const answer = await announced.answer()
  checkError(t, answer, 'PAYLOAD_TOO_LARGE')
  t.equal(answer.headers.connection, 'close')
  announced.socket.end()
  await announced.ended()

  const chunked = rawConnection(node.url)
  chunked.send(rawRequest('POST', '/json', { ...json, 'transfer-encoding': 'chunked' }))
  const chunk = `1000\r\n${'a'.repeat(4096)}\r\n`
  chunked.send(chunk, chunk, chunk, chunk)
  checkError(t, await chunked.answer(), 'PAYLOAD_TOO_LARGE')
  chunked.socket.end()
  await chunked.ended()
})
