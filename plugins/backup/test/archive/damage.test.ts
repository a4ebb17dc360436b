import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { archiveFailure } from '@nodekeep/plugin-sdk/archive'
import fc from 'fast-check'
import t, { type Test, test } from 'tap'
import { Header } from 'tar'
import { readHeader, unpackBackup, verifyArchive } from '../../src/archive/read-archive.ts'
import { readBackup } from '../../src/archive/read-backup.ts'
import type { ArchiveSource } from '../../src/archive/read-sources.ts'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { tarEnd, tarHeader, tarPadding } from '../../src/archive/tar-blocks.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { each, file, folder, header, run } from './fixtures/sources.ts'

t.jobs = 3

const maxBytes = 2 ** 30

async function archived(
  t: Pick<Test, 'testdir'>,
  entries: readonly ArchiveSource[],
  recipients: readonly string[] = [],
): Promise<Buffer> {
  const archive = join(t.testdir(), 'made.tar.gz')
  await writeArchive(archive, { header, entries: each(...entries), recipients })
  return await readFile(archive)
}

const small = [file('a', 'alpha'), folder('d'), file('d/b', 'beta '.repeat(200)), file('c', 'gamma')]

/** The entries of an archive: their headers with what follows. */
function split(archive: Uint8Array): Buffer[] {
  const tar = gunzipSync(archive)
  const entries: Buffer[] = []
  let [from, at] = [0, 0]
  for (;;) {
    const block = new Header(tar, at)
    if (block.nullBlock) return entries
    const size = block.size ?? 0
    at += 512 + size + tarPadding(size).length
    if (block.type === 'ExtendedHeader') continue
    entries.push(tar.subarray(from, at))
    from = at
  }
}

function joined(entries: readonly Uint8Array[]): Buffer {
  return gzipSync(Buffer.concat([...entries, tarEnd]))
}

function entry(path: string, content: string, modified = new Date(header.created)): Buffer {
  const { length: size } = Buffer.from(content)
  return Buffer.concat([
    tarHeader({ path, type: 'file', size, modified }),
    Buffer.from(content),
    tarPadding(size),
  ])
}

function odd(fields: object): Buffer {
  const block = new Header({ mode: 0o644, size: 0, mtime: new Date(1e12), ...fields })
  block.encode()
  return block.block as Buffer
}

type Forgery = (parts: Buffer[]) => Uint8Array

/** The parts of the archive are: header, a, d, d/b, c, sums, manifest. */
const forgeries: Record<string, readonly [Forgery, RegExp]> = {
  'an entry that is missing': [(all) => joined(all.toSpliced(1, 1)), /differs from its manifest/],
  'a folder that is missing': [
    (all) => joined(all.toSpliced(2, 1)),
    /differs from its manifest: the first difference is "d"/,
  ],
  'the checksums that are missing': [
    (all) => joined(all.toSpliced(5, 1)),
    /differs from its manifest: the first difference is "SHA256SUMS"/,
  ],
  'an entry too many': [
    (all) => joined(all.toSpliced(3, 0, entry('extra', 'x'))),
    /differs from its manifest: the first difference is "d\/b"/,
  ],
  'an entry too many at the end': [
    (all) => joined(all.toSpliced(6, 0, entry('extra', 'x'))),
    /differs from its manifest/,
  ],
  'an entry twice': [(all) => joined([...all.slice(0, 5), ...all.slice(4)]), /an entry twice: "c"/],
  'two entries in another order': [
    ([head, a, d, b, c, ...rest]) => joined([head, c, d, b, a, ...rest] as Buffer[]),
    /the first difference is "a"/,
  ],
  'another content': [
    (all) => joined(all.with(4, entry('c', 'gamme', new Date('2026-01-02T03:04:05.678Z')))),
    /differs from its manifest: the first difference is "c"/,
  ],
  'another time': [
    (all) => joined(all.with(4, entry('c', 'gamma'))),
    /differs from its manifest: the first difference is "c"/,
  ],
  'no manifest': [(all) => joined(all.slice(0, -1)), /is cut short: it has no manifest\.json/],
  'nothing but a header': [(all) => joined(all.slice(0, 1)), /is cut short: it has only a backup\.json/],
  'an entry behind the manifest': [
    (all) => joined([...all, entry('behind', 'x')]),
    /something behind its manifest/,
  ],
  'half a manifest': [
    (all) => joined(all.with(-1, entry('manifest.json', '{"format":1,"entries":[\n'))),
    /differs from its manifest/,
  ],
  'an empty manifest': [
    (all) => joined(all.with(-1, entry('manifest.json', ''))),
    /differs from its manifest/,
  ],
  'a manifest without line breaks': [
    (all) => joined(all.with(-1, entry('manifest.json', 'x'.repeat(3_000_000)))),
    /differs from its manifest/,
  ],
  'a manifest of another kind': [
    (all) => joined(all.with(-1, entry('manifest.json', '{"format":1,"entries":[\nnull,\n'))),
    /differs from its manifest/,
  ],
  'a header at another place': [
    ([head, a, ...rest]) => joined([a, head, ...rest] as Buffer[]),
    /is no backup of Nodekeep/,
  ],
  'a header that is no JSON': [
    (all) => joined(all.with(0, entry('backup.json', 'oops'))),
    /its backup\.json cannot be read/,
  ],
  'a header without a format': [
    (all) => joined(all.with(0, entry('backup.json', '{}'))),
    /its backup\.json cannot be read/,
  ],
  'a header without content': [
    (all) => joined(all.with(0, entry('backup.json', '{"format":1}'))),
    /its backup\.json cannot be read/,
  ],
  'a newer format': [
    (all) => joined(all.with(0, entry('backup.json', '{"format":2,"new":true}'))),
    /was made by a newer version of Nodekeep, in format 2.*update Nodekeep/,
  ],
  'a newer format whose maker is known': [
    (all) => joined(all.with(0, entry('backup.json', '{"format":2,"nodekeep":"3.4.5"}'))),
    /in format 2 \(Nodekeep 3\.4\.5\)\. This version reads formats up to 1: update Nodekeep/,
  ],
  'a header that is a folder': [
    (all) => joined(all.with(0, odd({ path: 'backup.json/', type: 'Directory' }))),
    /is no backup of Nodekeep/,
  ],
  'a manifest that is a folder': [
    (all) => joined(all.with(-1, odd({ path: 'manifest.json/', type: 'Directory' }))),
    /differs from its manifest/,
  ],
  'a link': [
    (all) => joined(all.toSpliced(1, 0, odd({ path: 'l', type: 'SymbolicLink', linkpath: '/etc' }))),
    /neither a file nor a folder: "l"/,
  ],
  'a hard link': [
    (all) => joined(all.toSpliced(2, 0, odd({ path: 'l', type: 'Link', linkpath: 'a' }))),
    /neither a file nor a folder/,
  ],
  'a device': [
    (all) => joined(all.toSpliced(1, 0, odd({ path: 'n', type: 'CharacterDevice', devmaj: 1, devmin: 3 }))),
    /neither a file nor a folder/,
  ],
  'an absolute path': [
    (all) => joined(all.toSpliced(1, 0, odd({ path: '/etc/x', type: 'File' }))),
    /leads out of the folder: "\/etc\/x"/,
  ],
  'a path that leads out': [
    (all) => joined(all.toSpliced(1, 0, odd({ path: 'a/../../x', type: 'File' }))),
    /leads out of the folder/,
  ],
  'two archives in one': [(all) => Buffer.concat([joined(all), joined(all)]), /something behind its end/],
  'something behind the end': [
    (all) => Buffer.concat([joined(all), Buffer.alloc(1)]),
    /something behind its end/,
  ],
  'no end': [(all) => gzipSync(Buffer.concat(all)), /is cut short/],
  'no archive at all': [() => Buffer.from('Hello'), /no gzip file/],
  'an empty file': [() => Buffer.alloc(0), /cut short/],
}

test('what is no whole backup is refused', async (t) => {
  const parts = split(await archived(t, small))
  t.equal(parts.length, 7)
  const archive = join(t.testdir(), 'forged.tar.gz')
  // A thread for each case would take most of the time, so this test reads in its own.
  const read = () => readBackup({ file: archive, folder: null, identities: [], maxBytes }, () => {})
  await writeFile(archive, joined(parts))
  t.match(await read(), { entries: 6, bytes: Number })
  for (const [name, [forge, message]] of Object.entries(forgeries)) {
    await writeFile(archive, forge(parts))
    const error = await read().then(
      () => null,
      (thrown) => archiveFailure(thrown),
    )
    t.match(error, { code: 'VALIDATION_ERROR', message }, name)
  }
})

test('of a backup that is refused, nothing stays unpacked', async (t) => {
  const parts = split(await archived(t, small))
  const root = t.testdir({ into: {} })
  const [archive, into] = [join(root, 'forged.tar.gz'), join(root, 'into')]
  for (const name of ['an entry too many at the end', 'no manifest', 'a link', 'a path that leads out']) {
    const [forge, message] = forgeries[name] as (typeof forgeries)[string]
    await writeFile(archive, forge(parts))
    const failure = { name: 'NodekeepError', code: 'VALIDATION_ERROR', message }
    await t.rejects(unpackBackup(archive, into, { maxBytes }), failure, name)
    t.strictSame(await readdir(into), [], name)
    t.strictSame((await readdir(root)).sort(), ['forged.tar.gz', 'into'], name)
  }
})

test('an archive that plain tar made is no backup', async (t) => {
  const root = t.testdir({ files: { a: 'alpha' } })
  const archive = join(root, 'plain.tar.gz')
  await run('tar', '-czf', archive, '-C', root, 'files')
  const failure = {
    code: 'VALIDATION_ERROR',
    message: 'The archive plain.tar.gz is no backup of Nodekeep: it does not begin with backup.json.',
  }
  await t.rejects(verifyArchive(archive), failure)
  await t.rejects(readHeader(archive), failure)
  await t.rejects(readHeader(join(root, 'none')), {
    code: 'NOT_FOUND',
    message: 'The archive none does not exist.',
  })
  await t.rejects(verifyArchive(join(root, 'none')), { code: 'NOT_FOUND' })
  await t.rejects(readHeader(join(archive, 'below')), {
    code: 'NOT_FOUND',
    message: 'The archive below does not exist.',
  })
})

test('the header of a newer format is refused before anything else', async (t) => {
  const archive = join(t.testdir(), 'newer.tar.gz')
  const newer = entry('backup.json', '{"format":7}')
  await writeFile(archive, Buffer.concat([gzipSync(newer), gzipSync('a format that nobody knows yet')]))
  const failure = { code: 'VALIDATION_ERROR', message: /newer version of Nodekeep, in format 7/ }
  await t.rejects(readHeader(archive), failure)
  await t.rejects(verifyArchive(archive), failure)
})

test('a bomb ends at the bound, and the folder is empty again', async (t) => {
  const parts = split(await archived(t, small))
  const root = t.testdir({ into: {} })
  const [archive, into] = [join(root, 'bomb.tar.gz'), join(root, 'into')]
  const zeros = Array(300).fill(gzipSync(Buffer.alloc(1_000_000)))
  const head = tarHeader({ path: 'zeros', type: 'file', size: 300_000_000, modified: new Date(1e12) })
  await writeFile(archive, Buffer.concat([gzipSync(Buffer.concat([parts[0] as Buffer, head])), ...zeros]))
  await t.rejects(unpackBackup(archive, into, { maxBytes: 50_000_000 }), {
    code: 'PAYLOAD_TOO_LARGE',
    message: /more than the 50000000 bytes/,
  })
  t.strictSame(await readdir(into), [])
})

test('the parts of an encrypted backup belong together', async (t) => {
  const { identity, recipient } = await generateKey()
  const archive = await archived(t, small, [recipient])
  const [head, payload] = split(archive) as [Buffer, Buffer]
  const [otherHead, otherPayload] = split(
    await archived(t, [file('other', 'content')], [(await generateKey()).recipient]),
  ) as [Buffer, Buffer]
  const root = t.testdir({ into: {} })
  const [forged, into] = [join(root, 'forged.tar.gz'), join(root, 'into')]
  const changedHead = entry('backup.json', JSON.stringify({ format: 1, ...header, nodekeep: '9.9.9' }))
  const content = payload.subarray(512)
  const wrong: Record<string, readonly [Uint8Array, RegExp]> = {
    'another header': [joined([changedHead, payload]), /its two headers differ/],
    'another payload': [joined([otherHead, otherPayload]), /encrypted for another recovery key/],
    'no payload': [joined([head]), /is cut short/],
    'something behind': [joined([head, payload, entry('extra', 'x')]), /something beside its encrypted part/],
    'a payload in a payload': [joined([head, payload, payload]), /twice/],
    'half a payload': [
      joined([head, entry('payload.tar.gz.age', content.toString('latin1').slice(0, 300))]),
      /encrypted part cannot be read/,
    ],
    'a payload of nothing': [
      joined([head, entry('payload.tar.gz.age', '')]),
      /encrypted part cannot be read/,
    ],
    'a plain payload': [
      joined([head, entry('payload.tar.gz.age', 'age-encryption.org/v1\nno')]),
      /encrypted part cannot be read/,
    ],
  }
  for (const [name, [bytes, message]] of Object.entries(wrong)) {
    await writeFile(forged, bytes)
    const failure = { code: 'VALIDATION_ERROR', message }
    await t.rejects(unpackBackup(forged, into, { maxBytes, identities: [identity] }), failure, name)
    t.strictSame(await readdir(into), [], name)
  }
  await writeFile(forged, archive)
  await t.rejects(verifyArchive(forged), { message: /is encrypted\. Give its recovery key/ })
})

for (const isEncrypted of [false, true]) {
  const kind = isEncrypted ? 'an encrypted' : 'a plain'
  test(`${kind} backup with a fault anywhere is refused, or is as it was`, async (t) => {
    const { identity, recipient } = await generateKey()
    const whole = await archived(
      t,
      [...small, file('random', Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * i * 7919) % 251)))],
      isEncrypted ? [recipient] : [],
    )
    const { length } = whole
    const damaged = join(t.testdir(), 'damaged.tar.gz')
    await writeFile(damaged, whole)
    const settings = { file: damaged, folder: null, identities: [identity], maxBytes }
    const expected = JSON.stringify(await readBackup(settings, () => {}))
    let refused = 0
    const fault = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant('flip'), at: fc.nat(length - 1), bit: fc.nat(7) }),
      },
      fc.record({ kind: fc.constant('cut'), at: fc.nat(length - 1), bit: fc.constant(0) }),
      fc.record({ kind: fc.constant('insert'), at: fc.nat(length), bit: fc.nat(7) }),
      fc.record({ kind: fc.constant('repeat'), at: fc.nat(length - 1), bit: fc.constant(0) }),
    )
    await fc.assert(
      fc.asyncProperty(fault, async ({ kind, at, bit }) => {
        const [head, tail] = [whole.subarray(0, at), whole.subarray(at)]
        const flipped = Buffer.from(tail)
        flipped[0] = (flipped[0] ?? 0) ^ (1 << bit)
        const parts = {
          flip: [head, flipped],
          cut: [head],
          insert: [head, Buffer.of(1 << bit), tail],
          repeat: [head, tail, tail],
        }[kind] as Buffer[]
        await writeFile(damaged, Buffer.concat(parts))
        try {
          return JSON.stringify(await readBackup(settings, () => {})) === expected
        } catch (error) {
          refused += 1
          return archiveFailure(error)?.code === 'VALIDATION_ERROR'
        }
      }),
      { numRuns: 100 },
    )
    t.ok(refused > 75, `${refused} of 100 were refused`)
  })
}

test('an abort ends the reading and empties the folder', async (t) => {
  const root = t.testdir({ into: {} })
  const [archive, into] = [join(root, 'whole.tar.gz'), join(root, 'into')]
  const many = Array.from({ length: 40 }, (_, index) => file(`f${index}`, Buffer.alloc(1_000_000, index)))
  await writeArchive(archive, { header, entries: each(...many) })
  const abort = new AbortController()
  const reason = new Error('enough')
  const onProgress = () => abort.abort(reason)
  await t.rejects(unpackBackup(archive, into, { maxBytes, signal: abort.signal, onProgress }), reason)
  t.strictSame(await readdir(into), [])
  await t.rejects(verifyArchive(archive, { signal: abort.signal }), reason)
  await writeFile(join(into, 'there'), '')
  await t.rejects(unpackBackup(archive, into, { maxBytes }), { code: 'CONFLICT' })
  t.ok(existsSync(join(into, 'there')))
})
