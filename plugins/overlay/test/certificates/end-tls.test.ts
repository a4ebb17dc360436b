import { once } from 'node:events'
import { type AddressInfo, connect as connectPlain, createServer } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type ConnectionOptions, connect, createServer as createTlsServer, type TLSSocket } from 'node:tls'
import type { ClientConnection } from '@nodekeep/plugin-sdk'
import { serverCertificate } from '@nodekeep/plugin-sdk/server-tls'
import { type Test, test } from 'tap'
import { endTls } from '../../src/certificates/end-tls.ts'
import { createAuthority } from './fixtures/authority.ts'
import { connectionOf } from './fixtures/public-port.ts'

const authority = await createAuthority()
const name = 'me.example.org'

/** A node with a certificate for one name, which sends its greeting to each client. */
async function createNode(t: Test, { hasDefault = true, handshakeMs = 10_000 } = {}) {
  const { context } = serverCertificate(await authority.issue({ names: [name] }))
  const challenge = serverCertificate(await authority.issue({ names: ['challenge.example.org'] }))
  const stopping = new AbortController()
  const ended: Promise<ClientConnection | null>[] = []
  const accept = (raw: Duplex) => {
    const find = (asked: string | null) =>
      asked === name || (asked === null && hasDefault) ? context : undefined
    const findChallenge = (asked: string) => (asked === name ? challenge.context : undefined)
    const certificates = { find, findChallenge }
    const client = endTls(connectionOf(raw), certificates, handshakeMs, stopping.signal)
    ended.push(client)
    return client
  }
  const server = createServer(async (socket) => {
    socket.on('error', () => {})
    const client = await accept(socket)
    client?.socket.end(`hello ${client.serverName}`)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    accept,
    ended,
    stop: () => stopping.abort(),
    connect(options: ConnectionOptions = {}): TLSSocket {
      const socket = connect({ port, host: '127.0.0.1', servername: name, ca: authority.root, ...options })
      t.teardown(() => socket.destroy())
      return socket
    },
  }
}

const versions = ['TLSv1.2', 'TLSv1.3'] as const
for (const version of versions) {
  const only = { minVersion: version, maxVersion: version }

  test(`${version}: a client of the name is served, with HTTP/1.1 only`, async (t) => {
    const node = await createNode(t)
    for (const ALPNProtocols of [undefined, ['http/1.1'], ['h2', 'http/1.1']]) {
      const socket = node.connect({ ...only, ...(ALPNProtocols && { ALPNProtocols }) })
      await once(socket, 'secureConnect')
      t.equal(socket.getProtocol(), version)
      t.equal(socket.alpnProtocol, ALPNProtocols === undefined ? false : 'http/1.1')
      t.equal(await text(socket), `hello ${name}`)
    }
    const foreign = node.connect({ ...only, ALPNProtocols: ['h2'] })
    await t.rejects(text(foreign), { code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' })
  })

  test(`${version}: a name without a certificate is refused by its alert`, async (t) => {
    const node = await createNode(t)
    const socket = node.connect({ ...only, servername: 'you.example.org' })
    await t.rejects(text(socket), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
    t.same(await Promise.all(node.ended), [null])
  })

  test(`${version}: the case of a name does not matter`, async (t) => {
    const node = await createNode(t)
    const socket = node.connect({ ...only, servername: 'ME.Example.org' })
    t.equal(await text(socket), `hello ${name}`)
  })

  test(`${version}: a client that names no server gets the certificate of the node, if there is one`, async (t) => {
    const served = await createNode(t)
    const checkServerIdentity = () => undefined
    const socket = served.connect({ ...only, servername: '', checkServerIdentity })
    t.equal(await text(socket), 'hello null')

    const bare = await createNode(t, { hasDefault: false })
    const refused = bare.connect({ ...only, servername: '', checkServerIdentity })
    await t.rejects(text(refused), { code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' })
    t.same(await Promise.all(bare.ended), [null])
  })

  test(`${version}: a session is resumed`, async (t) => {
    const node = await createNode(t)
    const first = node.connect(only)
    const sessions: Buffer[] = []
    first.on('session', (session) => sessions.push(session))
    await text(first)
    const second = node.connect({ ...only, session: sessions.at(-1) })
    await once(second, 'secureConnect')
    t.equal(second.isSessionReused(), true)
  })
}

test('an authority gets the certificate of its challenge, and nothing else', async (t) => {
  const node = await createNode(t)
  const ALPNProtocols = ['acme-tls/1']
  const checkServerIdentity = () => undefined
  const socket = node.connect({ ALPNProtocols, checkServerIdentity })
  await once(socket, 'secureConnect')
  t.equal(socket.alpnProtocol, 'acme-tls/1')
  t.equal(socket.getPeerX509Certificate()?.subject, 'CN=challenge.example.org')
  t.equal(await text(socket), '')

  const other = node.connect({ ALPNProtocols, servername: 'you.example.org' })
  await t.rejects(text(other), { code: 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME' })
  const nameless = node.connect({ ALPNProtocols, servername: '', checkServerIdentity })
  t.equal(await text(nameless), '')
  t.same(await Promise.all(node.ended), [null, null, null])
})

test('TLS 1.1 is refused', async (t) => {
  const node = await createNode(t)
  const old = node.connect({ minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  await t.rejects(text(old), { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' })
})

test('a client of TLS 1.2 cannot renegotiate', async (t) => {
  const node = await createNode(t)
  const server = createServer(async (raw) => {
    const client = await node.accept(raw)
    client?.socket.on('error', () => {}).pipe(client.socket)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const socket = node.connect({ port, minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })
  await once(socket, 'secureConnect')
  socket.renegotiate({}, () => {})
  const [error] = await once(socket, 'error').catch((thrown) => [thrown])
  t.equal(error.code, 'ERR_SSL_NO_RENEGOTIATION')
})

test('a ClientHello that arrives byte by byte is understood', async (t) => {
  const node = await createNode(t)
  const [inner, outer] = duplexPair()
  const raw = connectPlain(node.port, '127.0.0.1').setNoDelay()
  raw.on('data', (chunk) => outer.write(chunk)).on('end', () => outer.end())
  outer.on('data', async (chunk: Buffer) => {
    outer.pause()
    for (const byte of chunk) await new Promise((sent) => raw.write(Buffer.of(byte), sent))
    outer.resume()
  })
  outer.on('end', () => raw.end())
  t.equal(await text(node.connect({ socket: inner })), `hello ${name}`)
})

const beginnings: Record<string, Buffer> = {
  nothing: Buffer.alloc(0),
  'half a record': Buffer.of(22, 3, 1, 2, 0, 1),
  'an empty record': Buffer.of(22, 3, 1, 0, 0),
}
for (const [what, bytes] of Object.entries(beginnings)) {
  test(`a client that sends ${what} and waits is cut`, async (t) => {
    const node = await createNode(t, { handshakeMs: 50 })
    const socket = connectPlain(node.port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => {}).resume()
    socket.write(bytes)
    await once(socket, 'close')
    t.same(await Promise.all(node.ended), [null])
  })
}

test('a client that speaks no TLS is cut', async (t) => {
  const node = await createNode(t)
  const socket = connectPlain(node.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {}).resume()
  socket.write('GET / HTTP/1.1\r\nhost: me.example.org\r\n\r\n')
  await once(socket, 'close')
  t.same(await Promise.all(node.ended), [null])
})

test('a client that leaves in the middle of its handshake is forgotten', async (t) => {
  const node = await createNode(t)
  const socket = connectPlain(node.port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(Buffer.of(22, 3, 1, 2, 0, 1), () => socket.destroy())
  await once(socket, 'close')
  while (node.ended.length === 0) await new Promise(setImmediate)
  t.same(await Promise.all(node.ended), [null])
})

test('the end of the node cuts handshakes, and no connection that is served', async (t) => {
  const node = await createNode(t)
  const [client, raw] = duplexPair()
  const connected = node.connect({ socket: client })
  const [served] = await Promise.all([node.accept(raw), once(connected, 'secureConnect')])

  const [, waiting] = duplexPair()
  const cut = node.accept(waiting)
  node.stop()
  t.equal(await cut, null)
  t.equal(waiting.destroyed, true)
  t.equal(await node.accept(duplexPair()[0]), null, 'there is no handshake after the end')

  served?.socket.end('still here')
  t.equal(await text(connected), 'still here')
})

test('a client that ends its direction in the middle of its handshake is cut at once', async (t) => {
  const node = await createNode(t)
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    void node.accept(socket)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  for (const beginning of [Buffer.alloc(0), Buffer.of(22, 3, 1, 2, 0, 1)]) {
    const socket = connectPlain({ port, host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => socket.destroy())
    socket.on('error', () => {}).resume()
    const closed = once(socket, 'end')
    const began = performance.now()
    socket.end(beginning)
    await closed
    t.ok(performance.now() - began < 5000, 'and not after the time for a handshake')
    socket.destroy()
  }
  t.same(await Promise.all(node.ended), [null, null])
})

test('a connection that is closed already is not served', async (t) => {
  const node = await createNode(t)
  const [, raw] = duplexPair()
  raw.destroy()
  t.equal(await node.accept(raw), null)
})

test('TLS ends within the TLS of a tunnel, where bytes have arrived before', async (t) => {
  const node = await createNode(t)
  const tunnelCertificate = await authority.issue({ names: ['gateway.example.org'] })
  const tunnel = createTlsServer(tunnelCertificate, async (socket) => {
    const [first] = (await once(socket, 'data')) as [Buffer]
    socket.pause()
    socket.unshift(first.subarray('header\n'.length))
    const client = await node.accept(socket)
    client?.socket.end(`hello ${client.serverName}`)
  }).listen(0, '127.0.0.1')
  t.teardown(() => tunnel.close())
  await once(tunnel, 'listening')
  const { port } = tunnel.address() as AddressInfo
  const gateway = connect({ port, host: '127.0.0.1', servername: 'gateway.example.org', ca: authority.root })
  t.teardown(() => gateway.destroy())
  await once(gateway, 'secureConnect')

  // The header and the ClientHello arrive together.
  const [inner, outer] = duplexPair()
  const client = node.connect({ socket: inner })
  const [hello] = (await once(outer, 'data')) as [Buffer]
  gateway.write(Buffer.concat([Buffer.from('header\n'), hello]))
  outer.pipe(gateway)
  gateway.pipe(outer)
  t.equal(await text(client), `hello ${name}`)
})
