import { once } from 'node:events'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { createServer, type TLSSocket } from 'node:tls'
import t, { type Test, test } from 'tap'
import { AddressProof } from '../../src/registration/address-proof.ts'
import { someCertificate } from '../fixtures/some-certificate.ts'
import { startProvingNode } from './fixtures/proving-node.ts'
import { createSigningNode } from './fixtures/signing-node.ts'

t.jobs = 3

const address = '198.41.0.4'
const url = new URL('https://node.example.net:8443')

/** Proves addresses as always, but connects to a port of this machine instead of the address. */
function proofBy(port: number, timeoutMs = 10_000) {
  const dialed: unknown[] = []
  const looked: string[] = []
  const proof = new AddressProof({
    resolve: async (name) => {
      looked.push(name)
      return [address]
    },
    dial: (to) => {
      dialed.push(to)
      const socket = connect(port, '127.0.0.1')
      return socket.on('error', () => {})
    },
    timeoutMs,
  })
  return { proof, dialed, looked }
}

const unanswered = {
  code: 'UNPROCESSABLE',
  message: /does not answer at https:\/\/node\.example\.net:8443\./,
}

test('a node proves the address at which it answers', async (t) => {
  const { port, key } = await startProvingNode(t)
  const { proof, dialed, looked } = proofBy(port)
  t.strictSame(await proof.prove(url, key.nodeId), { address, port: 8443 })
  t.strictSame(dialed, [{ address, port: 8443 }], 'it connects once, to the address that was checked')
  t.strictSame(looked, ['node.example.net'], 'it looks the name up once')
  t.strictSame(await proof.prove(new URL(`https://${address}`), key.nodeId), { address, port: 443 })
})

test('another node at the address proves nothing', async (t) => {
  const { port } = await startProvingNode(t)
  await t.rejects(proofBy(port).proof.prove(url, createSigningNode().nodeId), unanswered)
})

test('a name of a private network is not connected to', async (t) => {
  const dialed: unknown[] = []
  const proof = new AddressProof({
    resolve: async () => ['10.0.0.1'],
    dial: (to) => {
      dialed.push(to)
      throw new Error('This must not happen.')
    },
  })
  await t.rejects(proof.prove(url, 'a node'), { code: 'VALIDATION_ERROR' })
  t.same(dialed, [])
})

async function listen(t: Test, server: Server): Promise<number> {
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => void open.add(socket.on('error', () => {})))
  t.teardown(() => {
    server.close()
    for (const socket of open) socket.destroy()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

test('servers that answer otherwise prove nothing, and cost little', async (t) => {
  const certificate = await someCertificate()
  const { port: elsewhere, key } = await startProvingNode(t)
  const answers: Record<string, (socket: TLSSocket) => void> = {
    'a redirect': (socket) =>
      socket.end(
        `HTTP/1.1 302 Found\r\nlocation: https://127.0.0.1:${elsewhere}/api/overlay/address-proof/x\r\ncontent-length: 0\r\n\r\n`,
      ),
    'an answer without a signature': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'),
    'no JSON': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello'),
    'JSON that is no object': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nnull'),
    'no HTTP': (socket) => socket.end('hello\r\n\r\n'),
    'an error': (socket) => socket.end('HTTP/1.1 500 No\r\ncontent-length: 0\r\n\r\n'),
    'a change of the protocol': (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    nothing: (socket) => socket.end(),
    'a body without an end': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      const more = setInterval(() => socket.write('a'.repeat(1000)), 1)
      socket.once('close', () => clearInterval(more))
    },
    'headers without an end': (socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = setInterval(() => socket.write(`x-a: ${'a'.repeat(1000)}\r\n`), 1)
      socket.once('close', () => clearInterval(more))
    },
  }
  for (const [name, answer] of Object.entries(answers)) {
    const closed = Promise.withResolvers<void>()
    const server = createServer(certificate, (socket) => {
      socket.on('error', () => {})
      socket.once('close', () => closed.resolve())
      socket.once('data', () => answer(socket))
    })
    const port = await listen(t, server)
    await t.rejects(proofBy(port).proof.prove(url, key.nodeId), unanswered, name)
    await closed.promise
  }
})

test('servers that are silent, or speak no TLS, prove nothing in time', async (t) => {
  const silent = await listen(t, createTcpServer())
  const plain = await listen(
    t,
    createTcpServer((socket) => void socket.end('SSH-2.0-x\r\n')),
  )
  const gone = createTcpServer()
  const absent = await listen(t, gone)
  gone.close()
  for (const port of [silent, plain, absent])
    await t.rejects(proofBy(port, 300).proof.prove(url, 'a node'), unanswered)

  const slow = new AddressProof({ resolve: () => new Promise(() => {}), timeoutMs: 100 })
  await t.rejects(slow.prove(url, 'a node'), unanswered, 'a name that nobody resolves')
})

test('few proofs run at a time', async (t) => {
  const port = await listen(t, createTcpServer())
  const { proof } = proofBy(port, 500)
  const running = Array.from({ length: 8 }, () => proof.prove(url, 'a node'))
  await t.rejects(proof.prove(url, 'a node'), {
    code: 'SERVICE_UNAVAILABLE',
    headers: { 'retry-after': '10' },
  })
  for (const one of await Promise.allSettled(running)) t.equal(one.status, 'rejected')
  await t.rejects(proof.prove(url, 'a node'), unanswered, 'and there is room again')
})
