import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { errorText } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'

/** What a `fetch` gets from a server that answers in this way. */
async function answered(t: Test, answer: (response: ServerResponse) => void): Promise<Response> {
  const server = createServer((_request, response) => answer(response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
}

test('what a server says comes whole', async (t) => {
  const { body } = await answered(t, (response) => response.writeHead(400).end('añejo'))
  t.equal(await errorText(body), 'añejo')
  t.equal(await errorText(null), '')
})

test('of a body that never ends, what has come is the text, and the server is told', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { body } = await answered(t, (response) => {
    response.once('close', gone.resolve)
    response.writeHead(429).write('Slow down.')
  })
  t.equal(await errorText(body, { maxMs: 200 }), 'Slow down.')
  await gone.promise
})

test('a long body is read up to its limit', async (t) => {
  const gone = Promise.withResolvers<void>()
  const { body } = await answered(t, (response) => {
    response.once('close', gone.resolve)
    const pour = () => {
      while (!response.destroyed && response.write('no '.repeat(20_000)));
    }
    response.writeHead(500).on('drain', pour)
    pour()
  })
  t.equal(await errorText(body, { maxBytes: 8 }), 'no no no')
  await gone.promise
})

test('of a body that breaks off, what has come is the text', async (t) => {
  async function* broken() {
    yield Buffer.from('so far')
    throw new Error('The connection broke.')
  }
  t.equal(await errorText(Readable.toWeb(Readable.from(broken()))), 'so far')
})
