import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { chat, providerOf } from './fixtures/chatting.ts'
import { startOpenAIServer } from './openai-server.ts'

/** Starts a server with this handler of connections and returns its port. */
async function listen(t: Test, connected: (socket: Socket) => void): Promise<number> {
  const server = createServer(connected)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Returns a provider that calls this address. */
async function providerAt(t: Test, endpoint: string) {
  const server = await startOpenAIServer()
  t.teardown(() => server.stop())
  return providerOf(server, { endpoint })
}

test('An answer that switches the protocol is an upstream error', async (t) => {
  const port = await listen(t, (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    })
  })
  const provider = await providerAt(t, `http://127.0.0.1:${port}/v1`)
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', permanent: false })
})

test('A TLS handshake without an answer ends after 10 s', async (t) => {
  const sockets: Socket[] = []
  const port = await listen(t, (socket) => {
    socket.resume().on('error', () => {})
    sockets.push(socket)
  })
  const provider = await providerAt(t, `https://127.0.0.1:${port}/v1`)
  await t.rejects(chat(provider), { code: 'UPSTREAM_TIMEOUT' })
  for (const socket of sockets) if (!socket.destroyed) await once(socket, 'close')
})

test('An abort during the TLS handshake ends the chat at once', async (t) => {
  const controller = new AbortController()
  const port = await listen(t, (socket) => {
    socket.resume().on('error', () => {})
    controller.abort(new Error('Nobody waits.'))
  })
  const provider = await providerAt(t, `https://127.0.0.1:${port}/v1`)
  await t.rejects(chat(provider, {}, controller.signal), { message: 'Nobody waits.' })
})

test('An abort during the request to a proxy ends the chat at once', async (t) => {
  const fixture = join(import.meta.dirname, 'fixtures/call-by-proxy.ts')
  const port = await listen(t, (socket) => {
    socket.on('error', () => {})
    socket.once('data', () => child.stdin.write('enough'))
  })
  const env = {
    ...process.env,
    NODE_USE_ENV_PROXY: '1',
    HTTPS_PROXY: `http://127.0.0.1:${port}`,
    NO_PROXY: '',
  }
  const child = spawn(process.execPath, [...process.execArgv, fixture], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.equal(await text(child.stdout), 'Nobody waits.')
})
