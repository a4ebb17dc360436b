import assert from 'node:assert/strict'
import { once } from 'node:events'
import { isIP } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { OverlayConnection, OverlayNetwork, OverlayNode } from '../contracts/overlay.ts'
import { type ConformanceTest, checksOf } from './conformance-test.ts'
import { soon } from './soon.ts'

export type { ConformanceTest }

/** A client outside that has connected to the node. */
export interface OverlayClient {
  /** The client's own end: what it writes arrives at the node. Both directions end by themselves (`allowHalfOpen`). */
  readonly socket: Duplex
  /** The IP address of the client, as the network sees it. */
  readonly address: string
}

/** A network that is ready for one test. */
export interface OverlaySubject {
  /** The network. Nobody has joined it yet. */
  readonly network: OverlayNetwork
  /** Connects to the joined node from outside, without TLS. */
  connect(): Promise<OverlayClient>
  /** Does the same from another IP address. Without it, the test of two addresses is skipped. */
  connectFromElsewhere?(): Promise<OverlayClient>
  /** The way of clients that ask for the node by a name. Without it, the tests of TLS are skipped. */
  readonly tls?: {
    /** The name, in lower case. */
    readonly serverName: string
    /** Connects from outside. The suite writes the ClientHello. */
    connect(): Promise<OverlayClient>
  }
  /** Cuts whatever connects the node with its network, so that the node has to join again. It can do so at once. */
  interrupt(): Promise<void>
  close(): Promise<void>
}

/** The facts and functions that the author of a network passes to the suite. */
export interface OverlayHarness {
  /** Prepares a network with a state of its own. Called once for each test. */
  setUp(): Promise<OverlaySubject>
}

/** More than all buffers on the way hold. */
const endless = 256 * 1024 * 1024

/**
 * Registers the tests that every overlay network must pass. The suite does not depend on a test runner: it uses the given function to
 * register its tests.
 *
 * @example
 * import { test } from 'node:test'
 * overlayConformance(test, { setUp: async () => ({ network, connect, interrupt, close }) })
 */
export function overlayConformance(test: ConformanceTest, harness: OverlayHarness): void {
  const check = checksOf(
    test,
    () => harness.setUp(),
    (subject) => subject.close(),
  )

  check('before a node joins, nothing is connected', async ({ network }) => {
    assert.equal(network.isConfigured, true)
    const { connected, allocatedPort, origins } = network.status()
    assert.deepEqual(
      { connected, allocatedPort, origins: [...origins] },
      { connected: false, allocatedPort: 0, origins: [] },
    )
  })

  check('a node that joins is connected, and hears so', async (subject) => {
    await using member = await join(subject)
    const { connected, proxyEnabled, allocatedPort, origins, problem } = member.network.status()
    assert.equal(connected, true)
    assert.ok(problem === null || /^[a-z]+(-[a-z]+)*$/.test(problem))
    assert.equal(typeof proxyEnabled, 'boolean')
    assert.ok(Number.isInteger(allocatedPort) && allocatedPort >= 0 && allocatedPort < 65_536)
    for (const origin of origins) assert.equal(new URL(origin).origin, origin)
  })

  check('a client reaches the node with its address, and every byte passes', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    assert.equal(served.remoteAddress, client.address)
    assert.notEqual(isIP(served.remoteAddress), 0)
    assert.ok(Number.isInteger(served.remotePort) && served.remotePort > 0 && served.remotePort < 65_536)
    assert.equal(served.protocol, 'http')
    assert.equal(served.encrypted, false)
    assert.equal(served.serverName, null)

    const sent = Buffer.from(Array.from({ length: 1_000_000 }, (_, at) => at % 251))
    client.socket.end(sent)
    served.socket.pipe(served.socket)
    const received = await soon(bytesOf(client.socket), 'The answer of the node did not arrive.')
    assert.ok(
      Buffer.concat([greeting, sent]).equals(received),
      'The bytes must be those that the client sent.',
    )
  })

  check('the first bytes wait for a node that reads late', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    client.socket.end('!')
    const received = await soon(bytesOf(served.socket), 'The bytes of the client did not arrive.')
    assert.equal(String(received), `${greeting}!`)
  })

  check('each direction ends by itself', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    client.socket.end()
    assert.equal(
      String(await soon(bytesOf(served.socket), 'The end of the client did not arrive.')),
      String(greeting),
    )
    served.socket.end(Buffer.alloc(500_000))
    const received = await soon(
      bytesOf(client.socket),
      'The answer after the end of the client did not arrive.',
    )
    assert.equal(received.length, 500_000)
  })

  check('a client that leaves closes the connection of the node', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    served.socket.resume()
    const closed = new Promise((resolve) => served.socket.once('close', resolve))
    served.socket.once('end', () => served.socket.end())
    client.socket.destroy()
    await soon(closed, 'The node did not hear that the client has left.')
  })

  check('a node that closes a connection closes that of the client', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    client.socket.resume()
    client.socket.once('end', () => client.socket.end())
    const closed = new Promise((resolve) => client.socket.once('close', resolve))
    served.socket.destroy()
    await soon(closed, 'The client did not hear that the node has closed the connection.')
  })

  check('a node that does not read slows its client down', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    served.socket.pause()
    const piece = Buffer.alloc(1024 * 1024)
    let written = 0
    while (written < endless && (await isTaken(client.socket, piece))) written += piece.length
    assert.ok(written < endless, `The network took ${endless} bytes that nobody reads.`)
    client.socket.destroy()
  })

  check('clients at the same time do not disturb each other', async (subject) => {
    await using member = await join(subject)
    const visits: { client: OverlayClient; served: OverlayConnection }[] = []
    for (let at = 0; at < 10; at += 1) visits.push(await member.visit())
    const [silent, ...others] = visits
    for (const { served } of others) served.socket.pipe(served.socket)
    for (const [at, { client }] of others.entries()) client.socket.end(`client ${at}`)
    for (const [at, { client }] of others.entries()) {
      const received = await soon(
        bytesOf(client.socket),
        'The answer for one of several clients did not arrive.',
      )
      assert.equal(String(received), `${greeting}client ${at}`)
    }
    silent?.client.socket.destroy()
  })

  check('each client has its own address', async (subject, skip) => {
    if (subject.connectFromElsewhere === undefined) return skip('The harness has no "connectFromElsewhere".')
    await using member = await join(subject)
    const near = await member.visit()
    const far = await member.visit(subject.connectFromElsewhere())
    assert.notEqual(far.client.address, near.client.address)
    for (const { client, served } of [near, far]) assert.equal(served.remoteAddress, client.address)
  })

  check('a node that ends TLS gets the ClientHello, with the name in it', async (subject, skip) => {
    if (subject.tls === undefined) return skip('The harness has no "tls".')
    const { serverName } = subject.tls
    await using member = await join(subject, true)
    const hello = await clientHello(serverName.toUpperCase())
    const { served } = await member.visit(subject.tls.connect(), hello)
    assert.equal(served.protocol, 'tls')
    assert.equal(served.encrypted, true)
    assert.equal(served.serverName, serverName)
    const [first] = await soon(once(served.socket, 'data'), 'The ClientHello did not arrive.')
    assert.ok(hello.subarray(0, first.length).equals(first), 'The ClientHello must be that of the client.')
    const plain = await member.visit()
    assert.equal(plain.served.protocol, 'http')
    assert.equal(plain.served.serverName, null)
  })

  check('a node that does not end TLS gets no ClientHello', async (subject, skip) => {
    if (subject.tls === undefined) return skip('The harness has no "tls".')
    await using member = await join(subject)
    const { socket } = await subject.tls.connect()
    socket.on('error', () => {})
    const refused = new Promise((resolve) => socket.once('data', resolve).once('close', resolve))
    socket.once('end', () => socket.end()).write(await clientHello(subject.tls.serverName))
    await soon(refused, 'The network neither answered nor closed the connection of a client of TLS.')
    socket.destroy()
    await member.visit()
    assert.deepEqual(
      member.served.map(({ protocol }) => protocol),
      ['http'],
    )
  })

  check('a node that was cut off is not connected, and joins again', async (subject) => {
    await using member = await join(subject)
    const lost = member.becomes(false)
    await subject.interrupt()
    await soon(lost, 'The node did not hear that it is not connected.')
    await soon(member.becomes(true), 'The node did not join again.')
    const { client, served } = await member.visit()
    served.socket.pipe(served.socket)
    client.socket.end()
    const received = await soon(
      bytesOf(client.socket),
      'The answer of the node that had joined again did not arrive.',
    )
    assert.equal(String(received), String(greeting))
  })

  check('a node that leaves is not connected, and what it serves goes on', async (subject) => {
    await using member = await join(subject)
    const { client, served } = await member.visit()
    await soon(member.leave(), 'Joining did not end when its signal was aborted.')
    assert.equal(member.network.status().connected, false)
    assert.deepEqual([...member.network.status().origins], [])
    served.socket.pipe(served.socket)
    client.socket.end('still here')
    const received = await soon(
      bytesOf(client.socket),
      'The connection did not go on after the node had left.',
    )
    assert.equal(String(received), `${greeting}still here`)
  })

  check('a node whose signal is aborted already does not join', async ({ network }) => {
    const node: OverlayNode = { endsTls: false, serve: ({ socket }) => socket.destroy(), statusChanged() {} }
    await soon(network.join(node, AbortSignal.abort()), 'Joining did not end at once.')
    assert.equal(network.status().connected, false)
  })
}

/** The first bytes of each client. They are on their way before the node has the connection. */
const greeting = Buffer.from('hello ')

/** A node that has joined. */
interface Member extends AsyncDisposable {
  readonly network: OverlayNetwork
  /** Resolves when the network has said that the node is connected, or not. */
  becomes(connected: boolean): Promise<void>
  /** The connections that the node has got. */
  readonly served: readonly OverlayConnection[]
  /** Connects a client, which sends its first bytes: the greeting, if they are not given. */
  visit(
    connecting?: Promise<OverlayClient>,
    first?: Buffer,
  ): Promise<{ readonly client: OverlayClient; readonly served: OverlayConnection }>
  /** Leaves the network. Resolves when joining has ended. */
  leave(): Promise<void>
}

async function join(subject: OverlaySubject, endsTls = false): Promise<Member> {
  const { network } = subject
  const leaving = new AbortController()
  const served: OverlayConnection[] = []
  const clients: OverlayClient[] = []
  const listeners = new Set<() => void>()
  const node: OverlayNode = {
    endsTls,
    serve(connection) {
      connection.socket.on('error', () => {})
      served.push(connection)
      for (const listener of listeners) listener()
    },
    statusChanged() {
      for (const listener of listeners) listener()
    },
  }
  const until = async (condition: () => boolean) => {
    if (condition()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const listener = () => condition() && resolve()
    listeners.add(listener)
    await promise
    listeners.delete(listener)
  }
  const joined = network.join(node, leaving.signal)
  const member: Member = {
    network,
    served,
    becomes: (connected) => until(() => network.status().connected === connected),
    async visit(connecting = subject.connect(), first = greeting) {
      const before = served.length
      const client = await connecting
      clients.push(client)
      client.socket.on('error', () => {})
      client.socket.write(first)
      await soon(
        until(() => served.length > before),
        'The client did not reach the node.',
      )
      const connection = served[before]
      assert.ok(connection)
      return { client, served: connection }
    },
    async leave() {
      leaving.abort()
      await joined
    },
    async [Symbol.asyncDispose]() {
      await member.leave()
      for (const { socket } of [...clients, ...served]) socket.destroy()
    },
  }
  await soon(member.becomes(true), 'The node was not connected.')
  return member
}

/** Returns the first bytes of a client of TLS that asks for a name. */
async function clientHello(serverName: string): Promise<Buffer> {
  const [near, far] = duplexPair()
  const client = connectTls({ socket: near, servername: serverName }).on('error', () => {})
  const [hello] = (await once(far, 'data')) as [Buffer]
  client.destroy()
  return hello
}

/** Resolves with all bytes when the other side has ended. Iterating would also destroy the other direction. */
async function bytesOf(socket: Duplex): Promise<Buffer> {
  const pieces: Buffer[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.once('end', resolve)
  socket.once('close', () => reject(new assert.AssertionError({ message: 'A connection was cut.' })))
  await promise
  return Buffer.concat(pieces)
}

/** Writes a piece, and resolves with whether there is room for the next one within half a second. */
async function isTaken(socket: Duplex, piece: Buffer): Promise<boolean> {
  if (socket.write(piece)) return true
  const late = AbortSignal.timeout(500)
  return once(socket, 'drain', { signal: late }).then(
    () => true,
    () => false,
  )
}
