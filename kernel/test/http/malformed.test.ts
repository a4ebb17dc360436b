import { createTestNode } from '@nodekeep/kernel/testing'
import type { ErrorCode } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkError } from './fixtures/error-answer.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection } from './fixtures/raw-connection.ts'

const host = 'Host: node.test\r\n'

/** Bytes that are not a valid HTTP/1.1 request, with the code of the only answer to them. */
const malformed: Readonly<Record<string, readonly [bytes: string | Buffer, code: ErrorCode]>> = {
  'no HTTP at all': ['hello?\r\n\r\n', 'VALIDATION_ERROR'],
  'the start of TLS': [Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), 'VALIDATION_ERROR'],
  'the preface of HTTP/2': ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'VALIDATION_ERROR'],
  'two Hosts': [`GET /open HTTP/1.1\r\n${host}hOst: other.test\r\n\r\n`, 'VALIDATION_ERROR'],
  'the same Host twice': [`GET /open HTTP/1.1\r\n${host}${host}\r\n`, 'VALIDATION_ERROR'],
  'two Hosts in HTTP/1.0': [`GET /open HTTP/1.0\r\n${host}${host}\r\n`, 'VALIDATION_ERROR'],
  'two Hosts of a WebSocket': [
    `GET /open HTTP/1.1\r\n${host}${host}connection: Upgrade\r\nupgrade: websocket\r\n\r\n`,
    'VALIDATION_ERROR',
  ],
  'no Host of a WebSocket': [
    'GET /open HTTP/1.1\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n',
    'VALIDATION_ERROR',
  ],
  'a made-up method': [`FOO /open HTTP/1.1\r\n${host}\r\n`, 'VALIDATION_ERROR'],
  'a method in lower case': [`get /open HTTP/1.1\r\n${host}\r\n`, 'VALIDATION_ERROR'],
  'no Host': ['GET /open HTTP/1.1\r\n\r\n', 'VALIDATION_ERROR'],
  'lines that end without a carriage return': ['GET /open HTTP/1.1\nHost: a\n\n', 'VALIDATION_ERROR'],
  'a NUL in the path': [`GET /op\0en HTTP/1.1\r\n${host}\r\n`, 'VALIDATION_ERROR'],
  'a space in the path': [`GET /op en HTTP/1.1\r\n${host}\r\n`, 'VALIDATION_ERROR'],
  'a NUL in a header': [`GET /open HTTP/1.1\r\n${host}x-a: b\0c\r\n\r\n`, 'VALIDATION_ERROR'],
  'a header without a name': [`GET /open HTTP/1.1\r\n${host}: b\r\n\r\n`, 'VALIDATION_ERROR'],
  'a folded header': [`GET /open HTTP/1.1\r\n${host}x-a: b\r\n c\r\n\r\n`, 'VALIDATION_ERROR'],
  'a space before the colon': [`GET /open HTTP/1.1\r\n${host}x-a : b\r\n\r\n`, 'VALIDATION_ERROR'],
  'two lengths': [
    `POST /json HTTP/1.1\r\n${host}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
    'VALIDATION_ERROR',
  ],
  'a negative length': [`POST /json HTTP/1.1\r\n${host}content-length: -1\r\n\r\n`, 'VALIDATION_ERROR'],
  'a length in words': [`POST /json HTTP/1.1\r\n${host}content-length: 1e3\r\n\r\n`, 'VALIDATION_ERROR'],
  'a length and chunks': [
    `POST /json HTTP/1.1\r\n${host}content-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nGET /open HTTP/1.1\r\n${host}\r\n`,
    'VALIDATION_ERROR',
  ],
  'chunks, then a length': [
    `POST /json HTTP/1.1\r\n${host}transfer-encoding: chunked\r\ncontent-length: 4\r\n\r\n0\r\n\r\n`,
    'VALIDATION_ERROR',
  ],
  'chunks under a disguise': [
    `POST /json HTTP/1.1\r\n${host}content-type: application/json\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n`,
    'VALIDATION_ERROR',
  ],
  'a chunk without a size': [
    `POST /json HTTP/1.1\r\n${host}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    'VALIDATION_ERROR',
  ],
  'a chunk longer than it says': [
    `POST /json HTTP/1.1\r\n${host}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n`,
    'VALIDATION_ERROR',
  ],
  'huge extensions of a chunk': [
    `POST /json HTTP/1.1\r\n${host}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2;a=${'b'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    'PAYLOAD_TOO_LARGE',
  ],
  'one huge header': [`GET /open HTTP/1.1\r\n${host}x-a: ${'a'.repeat(20_000)}\r\n\r\n`, 'HEADERS_TOO_LARGE'],
  'very many headers': [`GET /open HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(4000)}\r\n`, 'HEADERS_TOO_LARGE'],
  'a very long URL': [`GET /open?${'a'.repeat(20_000)} HTTP/1.1\r\n${host}\r\n`, 'HEADERS_TOO_LARGE'],
  'a tunnel': [`CONNECT example.org:443 HTTP/1.1\r\n${host}\r\n`, 'METHOD_NOT_ALLOWED'],
}

test('bytes that are not HTTP get one documented error, and then the connection ends', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({ plugins: [probe], onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  for (const [name, [bytes, code]] of Object.entries(malformed)) {
    const connection = rawConnection(node.url)
    connection.send(bytes)
    const answer = await connection.answer()
    checkError(t, answer, code, name)
    t.equal(answer.headers.connection, 'close', `${name}: the answer announces the close`)
    connection.socket.end()
    t.equal(await connection.ended(), '', `${name}: nothing follows`)
  }
  t.equal((await node.fetch('/health')).status, 200)
  const grave = lines.filter((line) => !line.includes('"level":"info"'))
  t.same(grave, [], 'the log has no warning about mistakes of clients')
})

test('odd paths and queries get an answer in the documented form', async (t) => {
  const node = await createTestNode({ plugins: [probe] })
  t.teardown(() => node.stop())
  const ask = async (target: string) => {
    const connection = rawConnection(node.url)
    connection.send(`GET ${target} HTTP/1.1\r\n${host}connection: close\r\n\r\n`)
    const answer = await connection.answer()
    await connection.ended()
    return answer
  }
  for (const path of ['/%zz', '/%', '/item/%ff', '/item/%e0%a4%a', '/open%c0%af..']) {
    checkError(t, await ask(path), 'VALIDATION_ERROR', path)
  }
  for (const path of ['/..%2f..%2fetc/passwd', '//open', '/open/', '/OPEN', '/open;a=b', '*', '/__proto__']) {
    checkError(t, await ask(path), 'NOT_FOUND', path)
  }
  checkError(t, await ask(`/item/${'a'.repeat(2000)}`), 'NOT_FOUND', 'a parameter that is too long')
  t.match(await ask('/item/a%2Fb%00c'), { status: 200, body: '{"id":"a/b\\u0000c"}' })
  t.match(await ask('/open?x=%zz&__proto__=1&constructor=2'), { status: 200, body: '{"open":true}' })
  t.match(await ask('/open#fragment'), { status: 200 })

  const polluted = await ask('/query?__proto__[a]=1&constructor.prototype.a=2&a=b')
  t.match(JSON.parse(polluted.body), { query: { a: 'b' } })
  t.equal(({} as { a?: unknown }).a, undefined)

  t.match(await ask('http://elsewhere.test/open'), { status: 200 }, 'the absolute form is routed by its path')
  const unknown = await ask('http://elsewhere.test/nothing')
  checkError(t, unknown, 'NOT_FOUND')
  t.notMatch(unknown.body, 'elsewhere')
  for (const target of ['http:///open', 'http://a@elsewhere.test/open', 'ftp://elsewhere.test/open'])
    checkError(t, await ask(target), 'VALIDATION_ERROR', target)
})
