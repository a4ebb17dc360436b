import fc from 'fast-check'
import { test } from 'tap'
import { type AddressConfiguration, createNodeAddress } from '../../src/sign-in/node-address.ts'

const local: AddressConfiguration = { host: '127.0.0.1', hostnames: [] }

/** Returns the origin for a Host, or the code of the error. */
function origin(host: string, configuration: Partial<AddressConfiguration> = {}, protocol = 'http'): string {
  try {
    return createNodeAddress({ ...local, ...configuration }).originOf({
      host,
      protocol: protocol as 'http',
    }).origin
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
  t.equal(origin('localhost:4200', {}, 'https'), 'https://localhost:4200')
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

test('publicUrl replaces the Host of every request', async (t) => {
  const publicUrl = 'https://node.example.org:8443'
  for (const host of ['node.example.org', 'localhost:4200', 'evil.example', '', 'user@localhost'])
    t.equal(origin(host, { publicUrl }), publicUrl)
  const address = createNodeAddress({ ...local, publicUrl })
  const request = { host: 'localhost', protocol: 'http' as const }
  address.originOf(request).hostname = 'evil.example'
  t.equal(
    address.originOf(request).origin,
    publicUrl,
    'a change of the returned URL does not change the configured one',
  )
})

test('the error names the remedy for the owner', async (t) => {
  const address = createNodeAddress(local)
  t.throws(() => address.originOf({ host: 'nas.local:4200', protocol: 'http' }), {
    message:
      'The node does not go by the name "nas.local". The owner can add it to "server.hostnames", or set "server.publicUrl".',
  })
  try {
    address.originOf({ host: 'x'.repeat(10_000), protocol: 'http' })
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
    { numRuns: 2000 },
  )
  t.pass()
})
