import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { readWithin } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { errorText } from '../../src/model-servers/bounded-body.ts'

test('A body within the limit is read whole', async (t) => {
  const pieces = [Buffer.from('añ'), Buffer.alloc(0), Buffer.from('ejo')]
  t.equal(String(await readWithin(pieces, 6)), 'añejo')
  t.equal((await readWithin([], 0)).length, 0)
  const { body } = new Response('from a server')
  t.equal(String(await readWithin(body ?? [], 100)), 'from a server')
})

test('A body beyond the limit is refused, and its rest is canceled', async (t) => {
  let sent = 0
  let canceled = false
  async function* endless() {
    try {
      for (;;) {
        sent += 10
        yield new Uint8Array(10)
      }
    } finally {
      canceled = true
    }
  }
  await t.rejects(readWithin(endless(), 25), { message: 'The answer is longer than 25 bytes.' })
  t.equal(sent, 30)
  t.ok(canceled)
})

test('A body that breaks off fails with its own error', async (t) => {
  async function* broken() {
    yield Buffer.from('so far')
    throw new Error('The connection broke.')
  }
  await t.rejects(readWithin(broken(), 100), { message: 'The connection broke.' })
})

/** Returns the response of a `fetch` from a server with this answer. */
async function fetchFrom(t: Test, answer: (response: ServerResponse) => void): Promise<Response> {
  const server = createServer((_request, response) => answer(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('The text of an error is read whole', async (t) => {
  const { body } = await fetchFrom(t, (response) => response.writeHead(400).end('añejo'))
  t.equal(await errorText(body), 'añejo')
  t.equal(await errorText(null), '')
})

test('The reading of an endless error stops in time and closes the connection', async (t) => {
  const closed = Promise.withResolvers<void>()
  const { body } = await fetchFrom(t, (response) => {
    response.once('close', closed.resolve)
    response.writeHead(429).write('Slow down.')
  })
  t.equal(await errorText(body, { maxMs: 200 }), 'Slow down.')
  await closed.promise
})

test('A long error is read up to its limit', async (t) => {
  const closed = Promise.withResolvers<void>()
  const { body } = await fetchFrom(t, (response) => {
    response.once('close', closed.resolve)
    const writeMore = () => {
      while (!response.destroyed && response.write('no '.repeat(20_000)));
    }
    response.writeHead(500).on('drain', writeMore)
    writeMore()
  })
  t.equal(await errorText(body, { maxBytes: 8 }), 'no no no')
  await closed.promise
})

test('The text of an error that breaks off is the part that arrived', async (t) => {
  async function* broken() {
    yield Buffer.from('so far')
    throw new Error('The connection broke.')
  }
  t.equal(await errorText(Readable.toWeb(Readable.from(broken()))), 'so far')
})
