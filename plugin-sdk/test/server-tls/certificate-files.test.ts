import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '@nodekeep/plugin-sdk'
import { CertificateFiles, type CertificatePair } from '@nodekeep/plugin-sdk/server-tls'
import { type Test, test } from 'tap'
import { createAuthority } from './fixtures/authority.ts'
import { createLog } from './fixtures/log.ts'

const authority = await createAuthority()
const name = 'me.example.org'

async function open(t: Test, pair: CertificatePair | null) {
  const folder = t.testdir({ live: {} })
  const paths = { cert: join(folder, 'live/cert.pem'), key: join(folder, 'live/key.pem') }
  if (pair !== null) write(paths, pair)
  const log = createLog()
  const files = await CertificateFiles.open({ ...paths, log: log as unknown as Log, pollMs: 10 })
  t.teardown(() => files.close())
  return { files, folder, paths, log }
}

function write({ cert, key }: CertificatePair, pair: CertificatePair): void {
  writeFileSync(cert, pair.cert)
  writeFileSync(key, pair.key)
}

test('the certificate covers the names in it', async (t) => {
  const { files } = await open(t, await authority.issue({ names: [name, '*.wild.example.org'] }))
  for (const one of [name, 'a.wild.example.org']) t.ok(files.current?.covers(one), one)
  for (const other of ['example.org', 'you.example.org', 'a.b.wild.example.org'])
    t.notOk(files.current?.covers(other), other)
  t.equal(files.problem, null)
})

const replacements: Record<string, (paths: CertificatePair, pair: CertificatePair, folder: string) => void> =
  {
    'written in place': write,
    'replaced by renames': (paths, pair, folder) => {
      const drafts = { cert: join(folder, 'new-cert'), key: join(folder, 'new-key') }
      write(drafts, pair)
      renameSync(drafts.key, paths.key)
      renameSync(drafts.cert, paths.cert)
    },
    'replaced by links': (paths, pair, folder) => {
      mkdirSync(join(folder, 'archive'))
      const archived = { cert: join(folder, 'archive/cert2.pem'), key: join(folder, 'archive/key2.pem') }
      write(archived, pair)
      for (const part of ['cert', 'key'] as const) {
        rmSync(paths[part])
        symlinkSync(archived[part], paths[part])
      }
    },
  }
for (const [how, replace] of Object.entries(replacements)) {
  test(`files that are ${how} are read again`, async (t) => {
    const { files, folder, paths, log } = await open(t, await authority.issue({ names: [name] }))
    const before = files.current
    const isRead = log.next('info', /was read/)
    replace(paths, await authority.issue({ names: [name, 'new.example.org'] }), folder)
    await isRead
    t.not(files.current, before)
    t.ok(files.current?.covers('new.example.org'))
    t.equal(files.problem, null)
  })
}

const faults: Record<string, { pair: () => Promise<CertificatePair>; message: RegExp }> = {
  'a damaged certificate': {
    pair: async () => ({
      ...(await authority.issue({ names: [name] })),
      cert: '-----BEGIN CERTIFICATE-----\nMII',
    }),
    message: /The former one stays in use\. The certificate is damaged, or is not PEM/,
  },
  'a damaged key': {
    pair: async () => ({ ...(await authority.issue({ names: [name] })), key: '' }),
    message: /The key is damaged, encrypted, or is not PEM/,
  },
  'the key of another certificate': {
    pair: async () => ({
      ...(await authority.issue({ names: [name] })),
      key: (await authority.issue({ names: [name] })).key,
    }),
    message: /The key does not belong to the first certificate/,
  },
  'a damaged chain': {
    pair: async () => {
      const { cert, key } = await authority.issue({ names: [name] })
      return { cert: `${cert}\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n`, key }
    },
    message: /The certificate, its chain or its key cannot be used/,
  },
  'an expired certificate': {
    pair: () => authority.issue({ names: [name], from: -20, to: -10 }),
    message: /It expired on/,
  },
}
for (const [what, { pair, message }] of Object.entries(faults)) {
  test(`${what} leaves the former certificate in use, and is a problem until it is mended`, async (t) => {
    const { files, paths, log } = await open(t, await authority.issue({ names: [name] }))
    const before = files.current
    const isRefused = log.next('warn', message)
    write(paths, await pair())
    await isRefused
    t.equal(files.current, before)
    t.match(files.problem, message)

    const isRead = log.next('info', /was read/)
    write(paths, await authority.issue({ names: [name] }))
    await isRead
    t.not(files.current, before)
    t.equal(files.problem, null)
  })
}

test('files that are missing at the start are used as soon as they are there', async (t) => {
  const { files, paths, log } = await open(t, null)
  t.equal(files.current, null)
  t.match(files.problem, /cert\.pem does not exist/)
  t.match(
    log.lines.map(({ level }) => level),
    ['warn'],
  )
  const isRead = log.next('info', /was read/)
  write(paths, await authority.issue({ names: [name] }))
  await isRead
  t.ok(files.current)
  t.equal(files.problem, null)
})

test('files that disappear leave the certificate in use', async (t) => {
  const { files, paths, log } = await open(t, await authority.issue({ names: [name] }))
  const isMissed = log.next('warn', /key\.pem does not exist/)
  rmSync(paths.key)
  await isMissed
  t.ok(files.current)
  t.match(files.problem, /The former one stays in use/)
})

test('an expired certificate is used where there is no other one', async (t) => {
  const { files } = await open(t, await authority.issue({ names: [name], from: -20, to: -10 }))
  t.ok(files.current, 'so the client sees the reason')
})

test('files are read once for each change', async (t) => {
  const { paths, log } = await open(t, await authority.issue({ names: [name] }))
  for (const change of [1, 2]) {
    const isRead = log.next('info', /was read/)
    write(paths, await authority.issue({ names: [name] }))
    await isRead
    t.equal(log.lines.length, 1 + change)
  }
})
