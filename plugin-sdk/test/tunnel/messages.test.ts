import {
  maxLineBytes,
  readClientLine,
  readFirstLine,
  readGatewayMessage,
  readNodeMessage,
  tunnelVersion,
  writeLine,
} from '@nodekeep/plugin-sdk/tunnel'
import fc from 'fast-check'
import { test } from 'tap'

const instance = 'a5'.repeat(16)
const url = 'https://me.example.org'
const client = {
  address: '2001:db8::7',
  port: 50_000,
  serverName: 'me.example.org',
  protocol: 'tls',
  encrypted: true,
} as const

test('every line survives the way', async (t) => {
  const lines = [
    [
      readFirstLine,
      { purpose: 'control', version: tunnelVersion, instance, endsTls: true, host: 'example.org' },
    ],
    [readFirstLine, { purpose: 'data', instance }],
    [readFirstLine, { purpose: 'api' }],
    [readClientLine, client],
    [readClientLine, { ...client, serverName: null, protocol: 'http', encrypted: false }],
    [readGatewayMessage, { type: 'welcome', port: 20_017, urls: [url] }],
    [readGatewayMessage, { type: 'dial', count: 3 }],
    [readGatewayMessage, { type: 'reachability', url, reachable: false, reason: 'Nobody answered.' }],
    [readGatewayMessage, { type: 'replaced' }],
    [readGatewayMessage, { type: 'refused', reason: 'Not you.', retrySeconds: 30 }],
    [readGatewayMessage, { type: 'stopping' }],
    [readGatewayMessage, { type: 'ping' }],
    [readNodeMessage, { type: 'leaving' }],
    [readNodeMessage, { type: 'pong' }],
  ] as const
  for (const [read, value] of lines) {
    const line = writeLine(value)
    t.match(line, /^[^\n]*\n$/)
    t.same(read(line), value)
    t.same(
      read(JSON.stringify({ ...value, later: ['a', 'new', 'field'] })),
      value,
      'unknown fields are ignored',
    )
  }
})

test('lines that are not valid are refused with a sentence', async (t) => {
  const refused = [
    () => readFirstLine('GET / HTTP/1.1'),
    () => readFirstLine('null'),
    () => readFirstLine('{}'),
    () => readFirstLine('{"purpose":"__proto__"}'),
    () => readFirstLine('{"purpose":"toString"}'),
    () => readFirstLine(JSON.stringify({ purpose: 'data' })),
    () => readFirstLine(JSON.stringify({ purpose: 'data', instance: 'A5'.repeat(16) })),
    () =>
      readFirstLine(JSON.stringify({ purpose: 'control', version: '1', instance, endsTls: true, host: 'x' })),
    ...['example:org', '1.2.3.4.5', ':'].map(
      (host) => () =>
        readFirstLine(JSON.stringify({ purpose: 'control', version: 1, instance, endsTls: true, host })),
    ),
    () => readClientLine(JSON.stringify({ ...client, address: 'example.org' })),
    () => readClientLine(JSON.stringify({ ...client, port: 65_536 })),
    () => readClientLine(JSON.stringify({ ...client, serverName: 'Me.example.org' })),
    () => readClientLine(JSON.stringify({ ...client, protocol: 'ftp' })),
    () => readGatewayMessage(JSON.stringify({ type: 'leaving' })),
    () => readGatewayMessage(JSON.stringify({ type: 'dial', count: 0 })),
    () => readGatewayMessage(JSON.stringify({ type: 'welcome', port: 1, urls: Array(11).fill(url) })),
    () =>
      readGatewayMessage(JSON.stringify({ type: 'reachability', url: 'me', reachable: true, reason: null })),
    () => readNodeMessage(JSON.stringify({ type: 'dial', count: 1 })),
  ]
  for (const read of refused) t.throws(read, /^The other side sent a line .*\.$/)
})

test('whatever arrives is a message or an Error', async (t) => {
  const readers = [readFirstLine, readClientLine, readGatewayMessage, readNodeMessage]
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      for (const read of readers) {
        try {
          t.type(read(text), 'object')
        } catch (error) {
          t.ok(error instanceof Error && /^The other side sent a line/.test(error.message))
        }
      }
    }),
    { numRuns: 200 },
  )
})

test('the longest line of each kind fits', async (t) => {
  const urls = Array.from(
    { length: 10 },
    (_, at) => `https://${at}${'x'.repeat(62)}.${'y'.repeat(63)}.example.org:20000`,
  )
  t.ok(writeLine({ type: 'welcome', port: 20_000, urls }).length <= maxLineBytes)
  t.ok(writeLine({ ...client, serverName: 'x'.repeat(253) }).length <= maxLineBytes)
})
