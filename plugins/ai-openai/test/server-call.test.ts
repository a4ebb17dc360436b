import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Test, test } from 'tap'
import { callServer } from '../src/server-call.ts'
import { chat, providerOf } from './fixtures/chatting.ts'
import { startOpenAIServer } from './openai-server.ts'

const get = { method: 'GET', headers: {} }

/** The port of a server that treats connections in this way. */
async function listen(t: Test, connected: (socket: Socket) => void): Promise<number> {
  const server = createServer(connected)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** Writes this as the answer of each request. */
function answering(text: string): (socket: Socket) => void {
  return (socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write(text))
  }
}

test('an answer that changes the protocol is none', async (t) => {
  const switching = answering('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
  const address = `http://127.0.0.1:${await listen(t, switching)}/v1`
  await t.rejects(callServer(address, get), { message: 'The connection closed without an answer.' })
  const server = await startOpenAIServer()
  t.teardown(() => server.stop())
  const provider = providerOf(server, { endpoint: address })
  await t.rejects(chat(provider), { code: 'UPSTREAM_ERROR', permanent: false })
})

test('a server that accepts and then says nothing of encryption has no connection', async (t) => {
  const held: Socket[] = []
  const port = await listen(t, (socket) => {
    socket.resume().on('error', () => {})
    held.push(socket)
  })
  await t.rejects(callServer(`https://127.0.0.1:${port}`, { ...get, connectMs: 50 }), {
    message: 'The connection timed out.',
  })
  for (const socket of held) if (!socket.destroyed) await once(socket, 'close')
})

test('a connection that stands is not hurried', async (t) => {
  const port = await listen(t, (socket) => {
    socket.once('data', () => {
      setTimeout(() => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'), 1200)
    })
  })
  const { statusCode } = await callServer(`http://127.0.0.1:${port}`, { ...get, connectMs: 1000 })
  t.equal(statusCode, 200)
})

test('who gives up while the connection is made waits for nobody', async (t) => {
  const controller = new AbortController()
  const port = await listen(t, (socket) => {
    socket.resume().on('error', () => {})
    controller.abort(new Error('Nobody waits.'))
  })
  const { signal } = controller
  await t.rejects(callServer(`https://127.0.0.1:${port}`, { ...get, signal }), { message: 'Nobody waits.' })
  await t.rejects(callServer(`https://127.0.0.1:${port}`, { ...get, signal }), { message: 'Nobody waits.' })
})

test('who gives up while a proxy is asked waits for nobody', async (t) => {
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
  const child = spawn(process.execPath, [fixture], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  t.equal(await text(child.stdout), 'Nobody waits. ', 'and no timer either')
})
