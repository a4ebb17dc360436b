import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { Readable } from 'node:stream'
import { json, text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createTestNode, needsPrograms } from '@nodekeep/kernel/testing'
import { type NonceAnswer, siweCredentials } from '@nodekeep/login-siwe/client'
import { definePlugin } from '@nodekeep/plugin-sdk'
import { Wallet } from 'ethers'
import t from 'tap'
import { root } from '../run/command.ts'
import { name, readRecipe, recipes, type StartedProxy } from './proxies.ts'

/** Linux has a whole network of loopback addresses, so client and proxy can have different ones. */
const clientAddress = process.platform === 'linux' ? '127.0.0.2' : '127.0.0.1'
const megabyte = Buffer.alloc(1024 * 1024, 'nodekeep')

for (const { proxy, programs, start } of recipes) {
  t.test(`the recipe for ${proxy}`, { skip: needsPrograms(...programs) }, async (t) => {
    const probe = createProbe()
    const { server, storage } = JSON.parse(await readRecipe('nodekeep.json'))
    const log: string[] = []
    const node = await createTestNode({
      folder: root,
      plugins: [probe.plugin],
      config: { extends: 'nodekeep:minimal', server, storage },
      onLog: (line) => log.push(line),
    })
    t.teardown(() => node.stop())
    const ask = client(await start(t, node.url))
    const { token } = await node.signIn('owner')
    const authorization = `Bearer ${token}`

    await t.test('a wallet signs in under the public name', async (t) => {
      const nonce = (await json(await ask('GET', '/auth/siwe/nonce'))) as NonceAnswer
      t.match(nonce, { domain: name, uri: `https://${name}` })
      const wallet = Wallet.createRandom()
      const credentials = await siweCredentials(nonce, wallet.address, (message) =>
        wallet.signMessage(message),
      )
      const headers = { 'content-type': 'application/json', origin: `https://${name}` }
      const signedIn = await ask('POST', '/auth/siwe', { headers }, [JSON.stringify(credentials)])
      t.equal(signedIn.statusCode, 200)
      const [cookie = ''] = signedIn.headers['set-cookie'] ?? []
      t.match(cookie, /; Secure/)
      const line = log.map((text) => JSON.parse(text)).find(({ event }) => event === 'signed-in')
      t.match(line, { ip: clientAddress }, 'the log names the address of the client')
      const whoami = await ask('GET', '/whoami', { headers: { cookie: cookie.split(';')[0] } })
      t.match(await json(whoami), { user: { authenticated: true, wallet: wallet.address } })
    })

    await t.test('the node sees the address of the client, whatever the client claims', async (t) => {
      for (const headers of [{}, { 'x-forwarded-for': '203.0.113.7', 'x-real-ip': '203.0.113.7' }]) {
        t.equal(await text(await ask('GET', '/probe/address', { headers })), clientAddress)
      }
    })

    await t.test('a file of 100 MB arrives whole', async (t) => {
      const headers = { authorization, 'content-type': 'application/octet-stream' }
      const body = Array.from({ length: 100 }, () => megabyte)
      const stored = await ask('PUT', '/write?path=/large.bin', { headers }, body)
      t.equal(stored.statusCode, 200, await text(stored))
      const read = await ask('GET', '/read?path=/large.bin', { headers: { authorization } })
      let bytes = 0
      for await (const chunk of read) bytes += chunk.length
      t.equal(bytes, 100 * megabyte.length)
    })

    await t.test('the node receives an upload while the client is sending it', async (t) => {
      const upload = async function* () {
        yield megabyte
        // This never ends behind a proxy that waits for the whole body.
        await probe.firstBytes
        yield megabyte
      }
      const headers = { 'content-type': 'application/octet-stream' }
      const answer = await ask('POST', '/probe/upload', { headers }, upload())
      t.equal(await text(answer), String(2 * megabyte.length))
    })

    await t.test('the client receives a stream while the node is sending it', async (t) => {
      probe.sendEvent('first')
      const answer = await ask('GET', '/probe/events')
      const events = answer.setEncoding('utf8')[Symbol.asyncIterator]()
      t.equal((await events.next()).value, 'data: first\n\n')
      // The node sends the second event only after the client has received the first.
      probe.sendEvent('second')
      t.equal((await events.next()).value, 'data: second\n\n')
      answer.destroy()
      await probe.eventsLeft
      t.pass('the node notices that the client has left')
    })

    await t.test('a WebSocket opens and echoes', async (t) => {
      const socket = await ask.webSocket('/probe/echo', `https://${name}`)
      // A text frame of a client is masked (RFC 6455, section 5.2). A mask of zeros changes nothing.
      socket.write(Buffer.concat([Buffer.from([0x81, 0x85, 0, 0, 0, 0]), Buffer.from('hello')]))
      const [frame] = await once(socket, 'data')
      t.equal(frame.subarray(2).toString(), 'hello')
      socket.destroy()
    })
  })
}

/** A plugin that shows how the requests and answers travel. */
function createProbe() {
  const config = { access: 'public', publicReason: 'It is there for a test.' } as const
  const firstBytes = Promise.withResolvers<void>()
  const eventsLeft = Promise.withResolvers<void>()
  const events = new Readable({ read() {} })
  events.once('close', eventsLeft.resolve)
  const plugin = definePlugin({
    id: 'probe',
    setup({ routes }) {
      routes(
        (app) => {
          app.get('/probe/address', { config }, async ({ ip }) => ip)
          app.post('/probe/upload', { config: { ...config, body: 'stream' } }, async ({ body }) => {
            let bytes = 0
            for await (const chunk of body as AsyncIterable<Buffer>) {
              bytes += chunk.length
              firstBytes.resolve()
            }
            return String(bytes)
          })
          app.addContentTypeParser('application/octet-stream', (_request, payload, done) =>
            done(null, payload),
          )
          app.get('/probe/events', { config }, (_request, reply) =>
            reply.type('text/event-stream').send(events),
          )
          app.get('/probe/echo', { config, websocket: true }, (socket) => {
            socket.on('message', (message) => socket.send(String(message)))
          })
        },
        { webSockets: true },
      )
    },
  })
  return {
    plugin,
    firstBytes: firstBytes.promise,
    eventsLeft: eventsLeft.promise,
    sendEvent: (event: string) => events.push(`data: ${event}\n\n`),
  }
}

/** Returns a function that sends requests to a proxy under the public name, over TLS. */
function client({ port, ca }: StartedProxy) {
  const options = (method: string, path: string, { headers }: RequestOptions): RequestOptions => ({
    host: '127.0.0.1',
    port,
    ca,
    servername: name,
    localAddress: clientAddress,
    method,
    path,
    headers: { host: name, ...headers },
    agent: false,
  })
  const ask = async (
    method: string,
    path: string,
    init: RequestOptions = {},
    body: Iterable<Buffer | string> | AsyncIterable<Buffer> = [],
  ): Promise<IncomingMessage> => {
    const sent = request(options(method, path, init))
    const answered = once(sent, 'response')
    const [[answer]] = await Promise.all([
      answered,
      pipeline(Readable.from(body, { objectMode: false }), sent),
    ])
    return answer
  }
  const webSocket = async (path: string, origin: string) => {
    const headers = {
      origin,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
    }
    const sent = request(options('GET', path, { headers }))
    sent.end()
    const [, socket] = await once(sent, 'upgrade')
    return socket as import('node:net').Socket
  }
  return Object.assign(ask, { webSocket })
}
