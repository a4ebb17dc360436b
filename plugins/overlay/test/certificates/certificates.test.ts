import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { duplexPair } from 'node:stream'
import { createMemoryState, createTestNode } from '@nodekeep/kernel/testing'
import type { Log } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createCertificates } from '../../src/certificates/certificates.ts'
import type { AcmeSettings } from '../../src/certificates/settings.ts'
import overlay from '../../src/index.ts'
import { createAuthority } from './fixtures/authority.ts'
import { createLog } from './fixtures/log.ts'
import { connectionOf, openPublicPort } from './fixtures/public-port.ts'

const name = 'me.example.org'
const acme: AcmeSettings = {
  termsAccepted: true,
  directory: 'https://127.0.0.1:1/dir',
  renewBeforeDays: 30,
}
const common = () => ({ state: createMemoryState(), log: createLog() as unknown as Log })

test('without a certificate, the node does not end TLS', async (t) => {
  const certificates = await createCertificates(common())
  t.equal(certificates.endsTls, false)
  certificates.names([name])
  t.equal(certificates.health().ok, true)
  const [raw] = duplexPair()
  t.equal(await certificates.accept(connectionOf(raw)), null)
  t.equal(raw.destroyed, true)
  await certificates.close()
})

test('a certificate in files serves clients, whatever the names of the network', async (t) => {
  const folder = t.testdir({})
  const pair = await (await createAuthority()).issue({ names: [name] })
  writeFileSync(join(folder, 'cert.pem'), pair.cert)
  writeFileSync(join(folder, 'key.pem'), pair.key)
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  const certificates = await createCertificates({ ...common(), tls })
  t.teardown(() => certificates.close())
  t.equal(certificates.endsTls, true)
  const entrance = await openPublicPort(t)
  entrance.node = certificates
  certificates.names([])
  const { text } = await entrance.greet({ servername: name })
  t.match(JSON.parse(text), { serverName: name, remoteAddress: '203.0.113.7', encrypted: true })
})

test('a certificate comes from one place', async (t) => {
  const tls = { cert: 'cert.pem', key: 'key.pem' }
  await t.rejects(createCertificates({ ...common(), tls, acme }), { message: /not both/ })
})

test('a stored certificate that is damaged is ordered anew', async (t) => {
  const log = createLog()
  const state = createMemoryState()
  const record = { directory: acme.directory, name, orderedAt: 0, failures: 0, reason: null, notBefore: 0 }
  await state.set(`acme name ${name} ${acme.directory}`, { ...record, pair: { cert: 'x', key: 'y' } })
  const certificates = await createCertificates({ ...common(), acme, state, log: log as unknown as Log })
  t.teardown(() => certificates.close())
  t.match(log.lines, [{ level: 'warn', message: /stored certificate for me\.example\.org cannot be used/ }])
  const isTold = log.next('warn', /could not be obtained/)
  certificates.names([name])
  await isTold
})

test('at most ten orders begin within an hour', async (t) => {
  const log = createLog()
  const state = createMemoryState()
  const free = Date.now() + 400
  for (let i = 0; i < 10; i++) {
    const other = `n${i}.example.org`
    const orderedAt = free - 60 * 60_000 + i
    const record = { directory: acme.directory, name: other, failures: 0, reason: null, notBefore: 0 }
    await state.set(`acme name ${other} ${acme.directory}`, { ...record, pair: null, orderedAt })
  }
  const certificates = await createCertificates({ ...common(), acme, state, log: log as unknown as Log })
  t.teardown(() => certificates.close())
  const isBegun = log.next('info', /is being obtained/)
  certificates.names([name])
  t.match(certificates.health().state, 'certificate-pending')
  await isBegun
  t.ok(Date.now() >= free)
})

const mistakes: Record<string, { acme: object; message: RegExp }> = {
  'terms that are not accepted': {
    acme: { termsAccepted: false },
    message: /overlay\.acme\.termsAccepted .*must be true/,
  },
  'terms that are not mentioned': { acme: {}, message: /overlay\.acme\.termsAccepted .*is missing/ },
  'a directory without TLS': {
    acme: { termsAccepted: true, directory: 'http://ca.example.org' },
    message: /overlay\.acme\.directory .*must match the pattern \^https/,
  },
  'an address that is none': {
    acme: { termsAccepted: true, email: 'me' },
    message: /overlay\.acme\.email .*must match/,
  },
}
for (const [what, mistake] of Object.entries(mistakes)) {
  test(`${what} stop the start`, async (t) => {
    const starting = createTestNode({ plugins: [overlay], config: { overlay: { acme: mistake.acme } } })
    await t.rejects(starting, { message: mistake.message })
  })
}
