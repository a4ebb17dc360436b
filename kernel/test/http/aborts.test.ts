// In a process of its own: it measures its memory.
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { createTestNode, type TestNode } from '@nodekeep/kernel/testing'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { until } from '../state/fixtures/until.ts'
import { probe } from './fixtures/probe-plugin.ts'
import { rawConnection, rawRequest } from './fixtures/raw-connection.ts'

const open = { access: 'public', publicReason: 'It is there for a test.' } as const
const upgrade = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
}

/** The number of open answers of the plugin below. */
let openAnswers = 0
const endless = definePlugin({
  id: 'endless',
  setup({ routes }) {
    routes(
      (app) => {
        app.get('/endless', { config: open }, async (_request, reply) => {
          async function* lines() {
            openAnswers += 1
            try {
              for (;;) {
                yield `${'x'.repeat(10_000)}\n`
                await wait(5)
              }
            } finally {
              openAnswers -= 1
            }
          }
          const { Readable } = await import('node:stream')
          return reply.type('text/plain').send(Readable.from(lines()))
        })
        app.get('/socket', { websocket: true, config: open }, (socket) => {
          socket.on('message', (message: Buffer) => socket.send(String(message)))
        })
      },
      { webSockets: true },
    )
  },
})

/** Returns the open connections and timers of the process. */
function resources(): string {
  const held = process.getActiveResourcesInfo().filter((name) => /TCPSocket|Timeout/.test(name))
  return held.sort().join()
}

/** Sends bytes and then resets or closes the connection, each time after another short delay. */
async function breakOff(node: TestNode, bytes: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    const connection = rawConnection(node.url)
    await once(connection.socket, 'connect')
    connection.send(bytes)
    if (i % 3 > 0) await wait(i % 3)
    if (i % 2 === 0) connection.socket.resetAndDestroy()
    else connection.close()
    await connection.ended()
  }
}

test('a client that disconnects at any moment leaves no connection and no timer', async (t) => {
  const lines: string[] = []
  const node = await createTestNode({ plugins: [probe, endless], onLog: (line) => lines.push(line) })
  t.teardown(() => node.stop())
  // The bound socket on which the node listens counts as a connection.
  const idle = resources()
  // The first requests create everything that is created once.
  await breakOff(node, rawRequest('GET', '/health'), 2)
  await until(() => resources() === idle)

  const json = { 'content-type': 'application/json', 'content-length': '1000' }
  const octets = { 'content-type': 'application/octet-stream', 'content-length': '1000' }
  const moments = {
    'within the headers': 'GET /open HTTP/1.1\r\nhost',
    'within a buffered body': rawRequest('POST', '/json', json, '{"a":'),
    'within a streamed body': rawRequest('POST', '/upload', octets, 'abc'),
    'within a body that was refused': rawRequest('POST', '/mine', json, '{"a":'),
    'within the answer': rawRequest('GET', '/endless'),
    'before the answer': rawRequest('GET', '/slow'),
    'between pipelined requests': rawRequest('GET', '/slow').repeat(3),
    'after nonsense': 'nonsense\r\n\r\n',
    'after CONNECT': 'CONNECT example.org:443 HTTP/1.1\r\nhost: a\r\n\r\n',
    'after an upgrade to nowhere': rawRequest('GET', '/nothing', upgrade),
    'after an upgrade that was refused': rawRequest('GET', '/mine', upgrade),
    'after an upgrade': rawRequest('GET', '/socket', upgrade),
    'after a broken handshake': rawRequest('GET', '/socket', { ...upgrade, 'sec-websocket-key': 'no' }),
  }
  for (const [moment, bytes] of Object.entries(moments)) {
    await breakOff(node, bytes, 12)
    await until(() => openAnswers === 0)
    await until(() => resources() === idle)
    t.pass(`${moment}: no connection and no timer is left`)
  }
  t.equal((await node.fetch('/health', { headers: { connection: 'close' } })).status, 200)
  t.notMatch(
    lines.join(''),
    /"level":"(warn|error|fatal)"/,
    'the log has no warning about clients that disconnect',
  )
})

test('an answer waits for a client that does not read, and does not fill memory', async (t) => {
  const node = await createTestNode({ plugins: [endless] })
  t.teardown(() => node.stop())
  const paused = Array.from({ length: 20 }, () => rawConnection(node.url))
  for (const connection of paused) {
    connection.socket.pause()
    connection.send(rawRequest('GET', '/endless'))
  }
  await until(() => openAnswers === paused.length)
  await wait(500)
  const early = process.memoryUsage().rss
  await wait(1500)
  const grown = process.memoryUsage().rss - early
  t.ok(grown < 60 * 1024 * 1024, `the process has grown by ${Math.round(grown / 1024 / 1024)} MiB`)
  for (const connection of paused) connection.close()
  await until(() => openAnswers === 0)
})
