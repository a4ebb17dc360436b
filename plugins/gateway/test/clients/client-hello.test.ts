import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { connect } from 'node:tls'
import fc from 'fast-check'
import { test } from 'tap'
import { maxClientHelloBytes, peekClientHello } from '../../src/clients/client-hello.ts'

/** Returns the first bytes of a real client. */
async function helloOf(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ ...options, host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  client.on('error', () => {})
  const [socket] = await once(server, 'connection')
  let bytes = Buffer.alloc(0)
  for await (const piece of socket) {
    bytes = Buffer.concat([bytes, piece])
    if (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt16BE(3)) break
  }
  client.destroy()
  server.close()
  return bytes
}

/** Splits the message of a record into records of some bytes. */
function inRecords(hello: Buffer, size: number): Buffer {
  const message = hello.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < message.length; at += size) {
    const fragment = message.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, fragment.length >> 8, fragment.length & 255]), fragment)
  }
  return Buffer.concat(records)
}

test('the name and the protocols are found as soon as the message is whole, and nothing is consumed', async (t) => {
  const hello = await helloOf({ servername: 'Me.Example.org', ALPNProtocols: ['h2', 'http/1.1'] })
  const found = { value: { serverName: 'me.example.org', protocols: ['h2', 'http/1.1'] }, length: 0 }
  for (const bytes of [hello, inRecords(hello, 100), inRecords(hello, 1), inRecords(hello, 16_000)]) {
    for (const part of [1, 4, 5, 6, 9, 50, bytes.length - 1])
      t.equal(peekClientHello(bytes.subarray(0, part)), null)
    t.same(peekClientHello(bytes), found)
    t.same(peekClientHello(Buffer.concat([bytes, Buffer.from('more')])), found)
  }
  t.ok(inRecords(hello, 1).length < maxClientHelloBytes, 'also in records of one byte')
})

test('a name and protocols may be missing', async (t) => {
  t.same(peekClientHello(await helloOf({})), { value: { serverName: null, protocols: [] }, length: 0 })
})

test('bytes that are not TLS are told at the first one', async (t) => {
  for (const text of ['GET /', 'PROXY', '\0', 'SSH-2.0']) {
    t.same(peekClientHello(Buffer.from(text)), { value: null, length: 0 }, JSON.stringify(text))
  }
})

test('whatever a client sends, the answer is a hello, a refusal, or a wait', async () => {
  const hello = await helloOf({ servername: 'me.example.org', ALPNProtocols: ['http/1.1'] })
  const isHandled = (bytes: Buffer) => {
    try {
      const found = peekClientHello(bytes)
      return found === null || found.length === 0
    } catch (error) {
      return (error as Error).message === 'The client sent no valid ClientHello.'
    }
  }
  const place = fc.nat({ max: hello.length - 1 })
  fc.assert(
    fc.property(fc.array(fc.tuple(place, fc.nat(255)), { maxLength: 8 }), place, (changes, end) => {
      const bytes = Buffer.from(hello)
      for (const [at, value] of changes) bytes[at] = value
      return isHandled(bytes) && isHandled(bytes.subarray(0, end))
    }),
    { numRuns: 2000 },
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => isHandled(Buffer.from([22, 3, 1, ...bytes]))),
  )
})

test('a hello in records of one byte that arrive one after the other costs little', (t) => {
  const message = Buffer.alloc(2700)
  message.writeUIntBE(0x01_00_3f_ff, 0, 4)
  const bytes = inRecords(Buffer.concat([Buffer.alloc(5), message]), 1)
  const before = process.cpuUsage()
  for (let end = 6; end <= bytes.length; end += 6) peekClientHello(bytes.subarray(0, end))
  const { user } = process.cpuUsage(before)
  t.ok(user < 5_000_000, `${user / 1000} ms of the processor`)
  t.end()
})

test('a name that is no host name is refused', async (t) => {
  const hello = await helloOf({ servername: 'me.example.org' })
  const at = hello.indexOf('me.example.org')
  for (const letter of ['\0', ' ', '/', '"', '\n', '\xff']) {
    const changed = Buffer.from(hello)
    changed.write(letter, at + 2, 'latin1')
    t.throws(() => peekClientHello(changed), /no valid ClientHello/)
  }
})
