import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { chat, providerOf } from './fixtures/chatting.ts'
import { startOpenAIServer } from './openai-server.ts'

/** The port of a server that treats connections in this way. */
async function listen(t: Test, connected: (socket: Socket) => void): Promise<number> {
  const server = createServer(connected)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A provider that asks this address. */
async function providerAt(t: Test, endpoint: string) {
  const server = await startOpenAIServer()
  t.teardown(() => server.stop())
  return providerOf(server, { endpoint })
}

test('an answer that changes the protocol is none', async (t) => {
  const port = await listen(t, (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    })
  })
  const provider = await providerAt(t, `http://127.0.0.1:${port}/v1`)
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', permanent: false })
})

test('a server that accepts and then says nothing of encryption is given up after 10 s', async (t) => {
  const held: Socket[] = []
  const port = await listen(t, (socket) => {
    socket.resume().on('error', () => {})
    held.push(socket)
  })
  const provider = await providerAt(t, `https://127.0.0.1:${port}/v1`)
  await t.rejects(chat(provider), { code: 'UPSTREAM_TIMEOUT' })
  for (const socket of held) if (!socket.destroyed) await once(socket, 'close')
})

test('a chat that is aborted while the connection is made waits for nobody', async (t) => {
  const controller = new AbortController()
  const port = await listen(t, (socket) => {
    socket.resume().on('error', () => {})
    controller.abort(new Error('Nobody waits.'))
  })
  const provider = await providerAt(t, `https://127.0.0.1:${port}/v1`)
  await t.rejects(chat(provider, {}, controller.signal), { message: 'Nobody waits.' })
})

test('a chat that is aborted while a proxy is asked waits for nobody', async (t) => {
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
