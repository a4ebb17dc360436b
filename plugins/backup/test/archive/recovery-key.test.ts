import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import { verifyArchive } from '../../src/archive/read-archive.ts'
import { generateKey, parseIdentity, recipientProblem } from '../../src/archive/recovery-key.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { each, file, header, isInstalled, run } from './fixtures/sources.ts'

test('a new key has the two halves of age', async (t) => {
  const [one, other] = await Promise.all([generateKey(), generateKey()])
  t.match(one.recipient, /^age1[02-9ac-hj-np-z]{58}$/)
  t.match(one.identity, /^AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}$/)
  t.not(one.identity, other.identity)
  t.not(one.recipient, other.recipient)
  t.equal(recipientProblem(one.recipient), null)
  t.equal(await parseIdentity(one.identity), one.identity)
})

const noAge = (await isInstalled('age-keygen')) ? false : 'age is not installed'

test('age-keygen knows the keys, and its keys open backups', { skip: noAge }, async (t) => {
  const { recipient, identity } = await generateKey()
  const root = t.testdir({ key: identity })
  t.equal((await run('age-keygen', '-y', join(root, 'key'))).trim(), recipient)

  const written = await run('age-keygen')
  const own = /public key: (age1\w+)/.exec(written)?.[1] as string
  const archive = join(root, 'backup.tar.gz')
  await writeArchive(archive, { header, entries: each(file('a', 'alpha')), recipients: [own] })
  t.match(await verifyArchive(archive, { identities: [written] }), { encrypted: true, entries: 3 })
})

test('a key may be typed in groups and in lower case', async (t) => {
  const { identity } = await generateKey()
  const groups = identity.replaceAll(/(.{4})/g, '$1 ')
  for (const typed of [groups, groups.toLowerCase(), ` ${identity}\r\n`, `# my key\n${identity}\n`]) {
    t.equal(await parseIdentity(typed), identity)
  }
})

test('a wrong key says what is wrong with it, and never the key', async (t) => {
  const [{ identity, recipient }, other] = await Promise.all([generateKey(), generateKey()])
  const archive = join(t.testdir(), 'backup.tar.gz')
  await writeArchive(archive, { header, entries: each(file('a', 'alpha')), recipients: [recipient] })
  for (const [wrong, message] of [
    [
      other.identity,
      'The archive backup.tar.gz was encrypted for another recovery key than the one that was given.',
    ],
    [identity.slice(0, 40), 'The recovery key is incomplete: it has 40 characters instead of 74.'],
    [identity.slice(37), /A recovery key begins with AGE-SECRET-KEY-1\. Enter it whole/],
    [`${identity}QQ`, 'The recovery key is too long: it has 76 characters instead of 74.'],
    [
      `${identity.slice(0, 30)}O${identity.slice(31)}`,
      /a typing error at character 31: no key has the character "O" there/,
    ],
    [
      `${identity.slice(0, -1)}${identity.endsWith('Q') ? 'P' : 'Q'}`,
      /typing error: its last characters, a checksum/,
    ],
    [recipient, /This is the public half of a recovery key/],
    ['', /A recovery key begins with/],
    ['AGE-SECRET-KEY-PQ-1QQQ', /typing error/],
  ] as const) {
    const error = await verifyArchive(archive, { identities: [wrong] }).then(
      () => null,
      (thrown: Error) => thrown,
    )
    t.match(error, { code: 'VALIDATION_ERROR', message })
    t.notMatch(error?.message, /[02-9AC-HJ-NP-Z]{10}/)
  }
  t.match(await verifyArchive(archive, { identities: [other.identity, identity] }), { encrypted: true })
})

test('each slip in a key is noticed', async (t) => {
  const { identity } = await generateKey()
  const letter = fc.constantFrom(...'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L1BIO')
  const slip = fc.oneof(
    fc.tuple(fc.nat(73), letter).map(([at, to]) => identity.slice(0, at) + to + identity.slice(at + 1)),
    fc.nat(73).map((at) => identity.slice(0, at) + identity.slice(at + 1)),
    fc
      .nat(72)
      .map((at) => `${identity.slice(0, at)}${identity[at + 1]}${identity[at]}${identity.slice(at + 2)}`),
    fc.tuple(fc.nat(73), letter).map(([at, more]) => identity.slice(0, at) + more + identity.slice(at)),
  )
  await fc.assert(
    fc.asyncProperty(slip, async (typed) => {
      if (typed === identity) return true
      const error = await parseIdentity(typed).then(
        () => null,
        (thrown: { code: string }) => thrown,
      )
      return error?.code === 'VALIDATION_ERROR'
    }),
    { numRuns: 200 },
  )
  t.pass('500 slips')
})

test('the recipient of age that hardware has is refused', (t) => {
  t.match(recipientProblem('age1tag1qqq'), /belongs to a device/)
  t.end()
})

test('a backup for a post-quantum key opens with that key', async (t) => {
  const { generateHybridIdentity, identityToRecipient } = await import('age-encryption')
  const identity = await generateHybridIdentity()
  const archive = join(t.testdir(), 'backup.tar.gz')
  const recipients = [await identityToRecipient(identity)]
  await writeArchive(archive, { header, entries: each(file('a', 'alpha')), recipients })
  t.match(await verifyArchive(archive, { identities: [identity] }), { encrypted: true })
})
