import { once } from 'node:events'
import { setTimeout as after } from 'node:timers/promises'
import { createTestNode } from '@nodekeep/kernel/testing'
import { clientSignal, definePlugin, EventStream, NodekeepError } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { rawConnection } from './fixtures/raw-connection.ts'

const config = { access: 'public', publicReason: 'It is there for a test.' } as const

/** Creates a plugin with one route that answers with a stream. */
function createStreaming(
  answer: (stream: EventStream, signal: AbortSignal) => Promise<void>,
  heartbeatMs = 60_000,
) {
  return definePlugin({
    id: 'streaming',
    setup({ routes }) {
      routes((app) => {
        app.get('/stream', { config }, async (_request, reply) => {
          const stream = new EventStream(reply, heartbeatMs)
          try {
            await answer(stream, clientSignal(reply))
          } catch (error) {
            stream.close()
            if (!stream.began) throw error
          }
          return reply
        })
      })
    },
  })
}

test('events arrive one by one, with the headers that streams need', async (t) => {
  const plugin = createStreaming(async (stream) => {
    stream.send('{"a":1}')
    stream.send('[DONE]')
    stream.end()
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const response = await node.fetch('/stream')
  t.equal(response.status, 200)
  t.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  t.equal(response.headers.get('cache-control'), 'no-cache, no-transform')
  t.equal(response.headers.get('x-accel-buffering'), 'no')
  t.ok(response.headers.get('x-request-id'))
  t.equal(await response.text(), 'data: {"a":1}\n\ndata: [DONE]\n\n')
})

test('an event can have a name and an id', async (t) => {
  const plugin = createStreaming(async (stream) => {
    stream.send('1', { event: 'reset', id: 'a' })
    stream.send('2', { id: 'b' })
    stream.end()
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const response = await node.fetch('/stream')
  t.equal(await response.text(), 'event: reset\nid: a\ndata: 1\n\nid: b\ndata: 2\n\n')
})

test('a route can answer with an error before the first event', async (t) => {
  const plugin = createStreaming(async () => {
    throw new NodekeepError('CONFLICT', 'Not now.')
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const response = await node.fetch('/stream')
  t.equal(response.status, 409)
  t.match(await response.json(), { error: true, code: 'CONFLICT' })
})

test('a stream without events sends heartbeats', async (t) => {
  const plugin = createStreaming(async (stream, signal) => {
    await once(signal, 'abort')
    stream.close()
  }, 20)
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const response = await node.fetch('/stream')
  let text = ''
  for await (const chunk of response.body ?? []) {
    text += new TextDecoder().decode(chunk)
    if (text.length >= 24) break
  }
  t.ok(text.startsWith(': ping\n\n: ping\n\n'), text)
})

test('a client that disconnects aborts a stream before its first event', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { promise: asked, resolve: begin } = Promise.withResolvers<void>()
  const plugin = createStreaming(async (stream, signal) => {
    begin()
    await once(signal, 'abort')
    stream.close()
    resolve()
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const abort = new AbortController()
  const request = node.fetch('/stream', { signal: abort.signal })
  await asked
  abort.abort()
  await t.rejects(request)
  await closed
})

test('a stream with multibyte characters resumes when its client reads again', async (t) => {
  const line = '東'.repeat(10_000)
  let sent = 0
  const { promise: full, resolve: stall } = Promise.withResolvers<void>()
  const plugin = createStreaming(async (stream, signal) => {
    for (let stalled = false; !stalled; ) {
      sent += 1
      if (stream.send(line)) continue
      const drained = stream.drained(signal).then(() => true)
      stalled = !(await Promise.race([drained, after(200, false)]))
      if (stalled) stall()
      await drained
    }
    stream.end()
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const connection = rawConnection(node.url)
  connection.socket.pause()
  connection.send('GET /stream HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n')
  await full
  connection.socket.resume()
  const answer = await connection.ended()
  t.equal(answer.split('data: ').length - 1, sent)
  t.ok(answer.endsWith('0\r\n\r\n'), 'the answer is complete')
})

test('a stream sends a client that does not read only as much as the buffers hold', async (t) => {
  const line = 'x'.repeat(64 * 1024)
  let sent = 0
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { promise: full, resolve: stall } = Promise.withResolvers<void>()
  const plugin = createStreaming(async (stream, signal) => {
    while (!signal.aborted) {
      sent += line.length
      if (stream.send(line)) continue
      // The stream is full when it does not drain for 300 ms.
      const drained = stream.drained(signal).then(() => true)
      if (!(await Promise.race([drained, after(300, false)]))) stall()
      await drained
    }
    stream.close()
    resolve()
  })
  const node = await createTestNode({ plugins: [plugin] })
  t.after(() => node.stop())
  const connection = rawConnection(node.url)
  connection.socket.pause()
  connection.send('GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n')
  await full
  const before = sent
  connection.socket.destroy()
  await closed
  t.ok(before < 32 * 1024 * 1024, `${before} bytes were sent to a client that does not read`)
})
