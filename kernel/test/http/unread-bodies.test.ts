import { createTestNode } from '@nodekeep/kernel/testing'
import t, { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { type RawConnection, rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const MiB = 1024 * 1024
const json = { 'content-type': 'application/json' }

// The tests run concurrently, because they mostly wait until the node closes the connection of a client that keeps sending.
t.jobs = 4

/** Sends until the node has closed the connection, without regard to any answer, and returns the bytes sent. */
async function flood({ socket, ended }: RawConnection): Promise<number> {
  const chunk = Buffer.alloc(64 * 1024)
  const closed = ended()
  let sent = 0
  while (!socket.closed) {
    sent += chunk.length
    if (socket.write(chunk)) continue
    const { promise: drained, resolve } = Promise.withResolvers<void>()
    socket.once('drain', resolve)
    await Promise.race([drained, closed])
  }
  return sent
}

/** Refusals of a large upload, by path. */
const refusals = [
  ['/mine', 'UNAUTHORIZED'],
  ['/nothing', 'NOT_FOUND'],
  ['/open', 'METHOD_NOT_ALLOWED'],
  ['/json', 'PAYLOAD_TOO_LARGE'],
] as const

test('the node answers a refused large upload early and does not read it', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const upload = async (path: string) => {
    const connection = rawConnection(node.url)
    connection.send(rawRequest('POST', path, { ...json, 'content-length': `${100 * MiB}` }))
    const [answer, sent] = await Promise.all([connection.answer(), flood(connection)])
    return { answer, sent }
  }
  const uploads = await Promise.all(refusals.map(async ([path, code]) => ({ code, ...(await upload(path)) })))
  for (const { code, answer, sent } of uploads) {
    checkError(t, answer, code)
    t.equal(answer.headers.connection, 'close')
    // Buffers of the system always take a few MiB.
    t.ok(sent < 30 * MiB, `${code}: the node took ${Math.round(sent / MiB)} MiB of 100`)
  }
})

test('an upload ends when its route answers without reading it', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  const headers = { 'content-type': 'application/octet-stream', 'transfer-encoding': 'chunked' }
  connection.send(rawRequest('POST', '/ignored', headers), `${(1024 * MiB).toString(16)}\r\n`)
  const answered = connection.answer()
  const sent = await flood(connection)
  t.match(await answered, { status: 200, body: '{"ignored":true}' })
  t.ok(sent < 30 * MiB, `the node took ${Math.round(sent / MiB)} MiB of 1024`)
})

test('a client that keeps sending can read the answer before the connection closes', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const answer = await fetch(new URL('/mine', node.url), { method: 'POST', body: Buffer.alloc(20 * MiB) })
  t.equal(answer.status, 401)
  t.match(await answer.json(), { code: 'UNAUTHORIZED' })
})

test('the node reads the small rest of a refused request and keeps the connection open', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  connection.send(rawRequest('POST', '/mine', { ...json, 'content-length': '10' }, '{'))
  const answer = await connection.answer()
  checkError(t, answer, 'UNAUTHORIZED')
  t.not(answer.headers.connection, 'close')
  connection.send('"abcdef":1', rawRequest('GET', '/open').slice(1))
  checkError(t, await connection.answer(), 'VALIDATION_ERROR', 'the body has exactly the announced length')
})

test('the small rest of a refused request has a timeout', async (t) => {
  const node = await createTestNode({ plugins: [probe], config: { server: { bodyTimeoutSeconds: 0.2 } } })
  t.teardown(() => node.stop())
  const connection = rawConnection(node.url)
  connection.send(rawRequest('POST', '/mine', { ...json, 'content-length': '10' }, '{'))
  checkError(t, await connection.answer(), 'UNAUTHORIZED')
  t.equal(await connection.ended(), '')
})

test('a client that sends Expect: 100-continue gets an answer at once', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const expecting = { ...json, expect: '100-continue' }
  for (const [path, code] of refusals) {
    const connection = rawConnection(node.url)
    connection.send(rawRequest('POST', path, { ...expecting, 'content-length': `${MiB}` }))
    checkError(t, await connection.answer(), code, `${path}, without 100 before it`)
    connection.close()
  }
  const connection = rawConnection(node.url)
  t.teardown(() => connection.close())
  connection.send(rawRequest('POST', '/json', { ...expecting, 'content-length': '7' }))
  t.equal((await connection.answer()).status, 100)
  connection.send('{"a":1}')
  t.match(await connection.answer(), { status: 200, body: '{"body":{"a":1}}' })
  connection.send(rawRequest('GET', '/open', { expect: 'a-miracle' }))
  t.equal((await connection.answer()).status, 200, 'other expectations are ignored, as RFC 9110 allows')
})
