import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '@nodekeep/plugin-sdk'
import { CertificateFiles, type CertificatePair } from '@nodekeep/plugin-sdk/server-tls'
import { type Test, test } from 'tap'
import { FileCertificates } from '../../src/certificates/file-certificates.ts'
import { createAuthority } from './fixtures/authority.ts'
import { createLog } from './fixtures/log.ts'

const authority = await createAuthority()
const name = 'me.example.org'

async function open(t: Test, pair: CertificatePair | null) {
  const folder = t.testdir({})
  const paths = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
  for (const part of ['cert', 'key'] as const) if (pair !== null) writeFileSync(paths[part], pair[part])
  const log = createLog()
  const files = await CertificateFiles.open({ ...paths, log: log as unknown as Log, pollMs: 10 })
  const certificates = new FileCertificates(files)
  t.teardown(() => certificates.close())
  return { certificates, paths, log }
}

test('the certificate serves the names in it, and clients that name no server', async (t) => {
  const { certificates } = await open(t, await authority.issue({ names: [name, '*.wild.example.org'] }))
  for (const served of [name, 'a.wild.example.org', null]) t.ok(certificates.find(served), String(served))
  for (const other of ['example.org', 'a.b.wild.example.org']) t.notOk(certificates.find(other), other)
  t.match(certificates.health(), { ok: true, state: 'certificate-valid', message: null })
})

test('without files, nobody is served, and the health tells why', async (t) => {
  const { certificates } = await open(t, null)
  t.equal(certificates.find(null), undefined)
  const message = /cert\.pem does not exist/
  t.match(certificates.health(), { ok: false, state: 'certificate-missing', message })
})

test('new files that cannot be used are told by the health', async (t) => {
  const { certificates, paths, log } = await open(t, await authority.issue({ names: [name] }))
  const good = readFileSync(paths.key)
  const isRefused = log.next('warn', /key\.pem does not exist/)
  rmSync(paths.key)
  await isRefused
  t.ok(certificates.find(name))
  t.match(certificates.health(), { ok: false, state: 'certificate-outdated', message: /does not exist/ })
  const isRead = log.next('info', /was read/)
  writeFileSync(paths.key, good)
  await isRead
  t.equal(certificates.health().ok, true)
})

test('an expired certificate is used where there is no other one, and is unhealthy', async (t) => {
  const { certificates } = await open(t, await authority.issue({ names: [name], from: -20, to: -10 }))
  t.ok(certificates.find(name), 'so the client sees the reason')
  t.match(certificates.health(), { ok: false, state: 'certificate-expired', message: /expired on/ })
})
