import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { test } from 'tap'
import { type AddressConfiguration, NodeOrigins } from '../../src/access/node-origins.ts'
import { RegistryEntries } from '../../src/services/registry.ts'

const local: AddressConfiguration = { host: '127.0.0.1', hostnames: [], cors: { origins: [] } }

/** A registry to which plugins have added origins. */
const registry = (...origins: string[]) => {
  const entries = new RegistryEntries('public-origins')
  for (const [index, origin] of origins.entries()) entries.add(String(index), origin, 'tunnel')
  return entries
}

interface Way {
  readonly protocol?: string
  /** Whether a trusted proxy forwarded the request. */
  readonly proxy?: boolean
}

function request(host: string, { protocol = 'http', proxy = false }: Way = {}) {
  const raw = { socket: new PassThrough() }
  return { host, protocol, headers: { host }, raw, ...(proxy && { ips: ['127.0.0.1', '203.0.113.7'] }) }
}

/** Returns the origin for a Host, or the code of the error. */
function origin(host: string, configuration: Partial<AddressConfiguration> = {}, way: Way = {}): string {
  try {
    return new NodeOrigins({ ...local, ...configuration }, registry()).originOf(request(host, way)).origin
  } catch (error) {
    return (error as { code: string }).code
  }
}

const refused = 'VALIDATION_ERROR'

test('the node accepts loopback names with any port', async (t) => {
  for (const host of [
    'localhost',
    'localhost:4200',
    'node.localhost:4200',
    '127.0.0.1:4200',
    '127.8.9.10',
    '[::1]',
    '[::1]:4200',
  ])
    t.equal(origin(host), `http://${host}`)
  t.equal(origin('LocalHost:4200'), 'http://localhost:4200')
  t.equal(origin('localhost:4200', {}, { protocol: 'https' }), 'https://localhost:4200')
})

test('the node accepts its configured names and the address that it listens on', async (t) => {
  const hostnames = ['nas.local', 'NAS.Example.ORG', '192.168.1.5', 'FD00:0:0::5']
  for (const host of [
    'nas.local',
    'NAS.local:4200',
    'nas.example.org:8443',
    '192.168.1.5:4200',
    '[fd00::5]:4200',
  ])
    t.equal(origin(host, { hostnames }), `http://${host.toLowerCase()}`)
  t.equal(origin('10.0.0.7:4200', { host: '10.0.0.7' }), 'http://10.0.0.7:4200')
  t.equal(origin('10.0.0.7:4200'), refused)
  t.equal(origin('[fd00::6]', { hostnames }), refused)
})

test('the node refuses any other name, such as that of a page that rebinds its name to this address', async (t) => {
  for (const host of [
    'evil.example',
    'evil.example:4200',
    'localhost.evil.example',
    'nas.local.evil.example',
    'xnas.local',
    'evil.nas.local',
    '127.0.0.1.evil.example',
    'localhost.',
    '0.0.0.0',
    '10.0.0.7',
    '[::ffff:127.0.0.1]',
    '[fe80::1]',
  ])
    t.equal(origin(host, { hostnames: ['nas.local'] }), refused, host)
})

test('an ambiguous Host is refused', async (t) => {
  for (const host of [
    '',
    ' ',
    ':',
    ':4200',
    'localhost:',
    'localhost:x',
    'localhost:99999',
    'localhost:080',
    'evil.example@localhost',
    'localhost@evil.example',
    'user:pass@localhost:4200',
    'localhost/evil.example',
    'localhost?evil.example',
    'localhost#evil.example',
    'localhost\\evil.example',
    'localhost, evil.example',
    'local\thost',
    'local%68ost',
    'localho\u017ft',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '127.0.0.1:4200:4200',
    '::1',
    '[::1',
    '[0:0:0:0:0:0:0:1]',
    'http://localhost',
    '//localhost',
  ])
    t.equal(origin(host), refused, JSON.stringify(host))
})

test('a request comes by a public origin if its Host says so, whatever scheme the proxy speaks to the node', async (t) => {
  const publicUrl = ['https://node.example.org:8443', 'http://lan.example', 'https://lan.example']
  t.equal(origin('node.example.org:8443', { publicUrl }), publicUrl[0])
  t.equal(origin('NODE.example.org:8443', { publicUrl }, { protocol: 'https', proxy: true }), publicUrl[0])
  t.equal(origin('lan.example', { publicUrl }), publicUrl[1])
  t.equal(origin('lan.example', { publicUrl }, { protocol: 'https' }), publicUrl[2])
  t.equal(origin('localhost:4200', { publicUrl }), 'http://localhost:4200', 'and at home by its other names')
  for (const host of ['node.example.org', 'evil.example', '', 'user@localhost'])
    t.equal(origin(host, { publicUrl }), refused, host)
})

test('a request through a proxy cannot come by the names for home', async (t) => {
  const configuration = { host: '10.0.0.7', hostnames: ['nas.local'], publicUrl: 'https://node.example.org' }
  const proxy = { protocol: 'https', proxy: true } as const
  t.equal(origin('node.example.org', configuration, proxy), 'https://node.example.org')
  t.equal(origin('nas.local', configuration, proxy), 'https://nas.local')
  for (const host of ['localhost', '127.0.0.1:4200', '[::1]', '10.0.0.7']) {
    t.equal(origin(host, configuration, proxy), refused, host)
    t.not(origin(host, configuration), refused, host)
  }
  const origins = new NodeOrigins(local, registry())
  t.throws(() => origins.originOf(request('127.0.0.1:4200', proxy)), {
    message: /^The proxy named the node "127\.0\.0\.1", .* must pass the Host/,
  })
})

test('an origin has the scheme http or https, whatever a proxy calls it', async (t) => {
  const hostnames = ['nas.local']
  const schemes = { http: 'http', ws: 'http', javascript: 'http', '': 'http', https: 'https', wss: 'https' }
  for (const [protocol, scheme] of Object.entries(schemes)) {
    t.equal(origin('nas.local', { hostnames }, { protocol, proxy: true }), `${scheme}://nas.local`)
    const origins = new NodeOrigins({ ...local, hostnames }, registry())
    t.equal(origins.isEncrypted(request('nas.local', { protocol })), scheme === 'https')
    t.equal(origins.isEncrypted(request('other.local', { protocol })), scheme === 'https')
  }
})

test('origins come and go at run time', async (t) => {
  const added = registry()
  const origins = new NodeOrigins(local, added)
  t.throws(() => origins.originOf(request('me.example.org')), { code: refused })
  added.add('0', 'https://me.example.org/', 'tunnel')
  added.add('1', 'not a URL', 'tunnel')
  added.add('2', 'tunnel:me', 'tunnel')
  t.equal(origins.originOf(request('me.example.org')).origin, 'https://me.example.org')
  t.ok(origins.isEncrypted(request('me.example.org')))
  t.strictSame(origins.publicOrigins(), ['https://me.example.org'])
  t.notOk(origins.isTrusted('null'), 'the origin of sandboxed pages')
  added.remove('0', 'tunnel')
  t.throws(() => origins.originOf(request('me.example.org')), { code: refused })
})

test('the error names the remedy for the owner', async (t) => {
  const address = new NodeOrigins(local, registry())
  t.throws(() => address.originOf(request('nas.local:4200')), {
    message:
      'The node does not go by the name "nas.local". The owner can add a name to "server.hostnames", or its origin to "server.publicUrl".',
  })
  const proxied = new NodeOrigins({ ...local, publicUrl: 'https://me.example.org' }, registry())
  t.throws(() => proxied.originOf(request('me.example.org:8443', { proxy: true })), {
    message: /named the node "me\.example\.org:8443"/,
  })
  try {
    address.originOf(request('x'.repeat(10_000)))
  } catch (error) {
    t.ok((error as Error).message.length < 300)
  }
})

test('a Host becomes an origin unchanged, or is refused', async (t) => {
  const characters = fc.constantFrom(...'localhost127.0:[]@/\\?#%\t nas-xn'.split(''), 'ſ', '１', '。')
  fc.assert(
    fc.property(fc.array(characters, { maxLength: 24 }), (parts) => {
      const host = parts.join('')
      const result = origin(host, { hostnames: ['nas.local'] })
      return result === refused || result === `http://${host.toLowerCase()}`
    }),
    { numRuns: 500 },
  )
  t.pass()
})

test('only public https names at the port of https are for browsers to reach by https alone', async (t) => {
  const publicUrl = [
    'https://me.example.org',
    'http://plain.example.org',
    'https://port.example.org:8443',
    'https://203.0.113.5',
    'https://[2001:db8::5]',
    'https://localhost',
  ]
  const origins = new NodeOrigins(
    { ...local, hostnames: ['nas.local'], publicUrl },
    registry('https://tunnel.example.org'),
  )
  const https = { protocol: 'https', proxy: true }
  for (const host of ['me.example.org', 'ME.example.org', 'tunnel.example.org'])
    t.ok(origins.cameByHttpsName(request(host, https)), host)
  for (const host of [
    'plain.example.org',
    'port.example.org:8443',
    'port.example.org',
    'me.example.org:8443',
    '203.0.113.5',
    '[2001:db8::5]',
    'localhost',
    'nas.local',
    'x.me.example.org',
  ])
    t.notOk(origins.cameByHttpsName(request(host, https)), host)
  t.notOk(origins.cameByHttpsName(request('me.example.org')), 'without TLS, as far as the node knows')
})
