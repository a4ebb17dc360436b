import { test } from 'tap'
import { localProxyHeader, proxyHeader } from '../../src/connections/proxy-header.ts'

const signature = '0d0a0d0a000d0a515549540a'
const version2 = (command: string, family: string, body: string) =>
  Buffer.from(signature + command + family + (body.length / 2).toString(16).padStart(4, '0') + body, 'hex')

const headers: Record<string, { bytes: Buffer; client: { address: string; port: number } | null }> = {
  'version 1 for IPv4': {
    bytes: Buffer.from('PROXY TCP4 203.0.113.7 198.51.100.1 56324 443\r\n'),
    client: { address: '203.0.113.7', port: 56324 },
  },
  'version 1 for IPv6': {
    bytes: Buffer.from('PROXY TCP6 2001:DB8:0:0::7 2001:db8::1 56324 443\r\n'),
    client: { address: '2001:db8::7', port: 56324 },
  },
  'the longest of version 1': {
    bytes: Buffer.from(`PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535${' '.repeat(48)}\r\n`),
    client: null,
  },
  'version 1 of an unknown client': { bytes: Buffer.from('PROXY UNKNOWN\r\n'), client: null },
  'version 2 for IPv4': {
    bytes: version2('21', '11', 'cb007107c6336401dc0401bb'),
    client: { address: '203.0.113.7', port: 56324 },
  },
  'version 2 for IPv6, with an extension': {
    bytes: version2(
      '21',
      '21',
      `20010db8000000000000000000000007${'20010db8000000000000000000000001'}dc0401bb040001ff`,
    ),
    client: { address: '2001:db8::7', port: 56324 },
  },
  'version 2 of the proxy itself': { bytes: localProxyHeader(), client: null },
}
for (const [what, { bytes, client }] of Object.entries(headers)) {
  test(`a header of ${what} is understood as soon as it is whole`, (t) => {
    for (let length = 0; length < bytes.length; length++)
      t.equal(proxyHeader(bytes.subarray(0, length)), null)
    const found = { value: client, length: bytes.length }
    t.same(proxyHeader(bytes), found)
    t.same(proxyHeader(Buffer.concat([bytes, Buffer.from([22, 3, 1])])), found, 'what follows is left')
    t.end()
  })
}

const faults: Record<string, Buffer> = {
  'a ClientHello': Buffer.from([22, 3, 1]),
  'a request': Buffer.from('POST'),
  'a name instead of an address': Buffer.from('PROXY TCP4 localhost 127.0.0.1 1 2\r\n'),
  'an address of the other family': Buffer.from('PROXY TCP4 ::1 ::1 1 2\r\n'),
  'a port that is none': Buffer.from('PROXY TCP4 127.0.0.1 127.0.0.1 x 2\r\n'),
  'a port that is too large': Buffer.from('PROXY TCP4 127.0.0.1 127.0.0.1 65536 2\r\n'),
  'a line without a port': Buffer.from('PROXY TCP4 127.0.0.1\r\n'),
  'another protocol': Buffer.from('PROXY UDP4 127.0.0.1 127.0.0.1 1 2\r\n'),
  'a line that is too long': Buffer.from(`PROXY UNKNOWN${' '.repeat(200)}`),
  'an unknown command': version2('22', '11', 'cb007107c6336401dc0401bb'),
  'a Unix socket': version2('21', '31', '00'.repeat(216)),
  'too many extensions': version2('21', '11', '00'.repeat(2000)),
}
for (const [what, bytes] of Object.entries(faults)) {
  test(`${what} is refused`, (t) => {
    t.throws(() => proxyHeader(bytes), { message: /^The proxy sent/ })
    t.end()
  })
}
