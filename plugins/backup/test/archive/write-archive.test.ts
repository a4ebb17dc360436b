import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { onSmallDisk } from '@nodekeep/kernel/testing'
import { type Test, test } from 'tap'
import { unpackBackup, verifyArchive } from '../../src/archive/read-archive.ts'
import type { ArchiveSource } from '../../src/archive/read-sources.ts'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { each, file, folder, header } from './fixtures/sources.ts'

/** Asserts that writing fails with an error, and that no file is left. */
async function fails(
  t: Test,
  entries: AsyncIterable<ArchiveSource>,
  error: Error | { code?: string; message: RegExp },
  more: Partial<Parameters<typeof writeArchive>[1]> = {},
): Promise<void> {
  const archive = join(t.testdir(), 'backup.tar.gz')
  await t.rejects(writeArchive(archive, { header, entries, ...more }), error)
  t.notOk(existsSync(archive), 'there is no file')
}

const large = (failing: () => AsyncIterable<Uint8Array>): ArchiveSource =>
  file('large', '', { size: 2 ** 40, open: failing })

test('an error of a source or of the list is the error of the archive', async (t) => {
  const error = new Error('The disk of the source is gone.')
  await fails(
    t,
    each(
      file('a', 'alpha'),
      file('b', '', {
        size: 5,
        open: () => {
          throw error
        },
      }),
    ),
    error,
  )
  await fails(
    t,
    each(
      large(async function* () {
        yield Buffer.alloc(5_000_000)
        throw error
      }),
    ),
    error,
  )
  const failing = () =>
    new Readable({
      read: (): never => {
        throw error
      },
    })
  await fails(t, each(file('a', '', { size: 5, open: failing }), file('b', 'beta')), error)
  await fails(
    t,
    (async function* () {
      yield file('a', 'alpha')
      throw error
    })(),
    error,
  )
  await fails(
    t,
    each(
      file('a', 'alpha', {
        changed: async () => {
          throw error
        },
      }),
    ),
    error,
  )
})

test('the other sources are left when one fails', async (t) => {
  const left: string[] = []
  const waiting = (name: string) =>
    file(name, '', {
      size: 10,
      async *open() {
        try {
          yield Buffer.from('x')
          await new Promise((resolve) => setTimeout(resolve, 100))
          yield Buffer.from('y')
        } finally {
          left.push(name)
        }
      },
    })
  const error = new Error('failed')
  const failing = file('failing', '', {
    size: 1,
    open: () => {
      throw error
    },
  })
  let isListLeft = false
  async function* list() {
    try {
      yield failing
      yield waiting('a')
      yield waiting('b')
      for (let index = 0; ; index += 1) yield file(`${index}`, 'x')
    } finally {
      isListLeft = true
    }
  }
  await fails(t, list(), error)
  t.ok(isListLeft)
  while (left.length < 2) await new Promise(setImmediate)
  t.strictSame(left.sort(), ['a', 'b'])
})

test('an abort ends everything, also a source and a list that hang', async (t) => {
  const reason = new Error('enough')
  let left = 0
  let reached = Promise.withResolvers<void>()
  const hanging = () =>
    new Readable({
      read: () => reached.resolve(),
      destroy: (_error, done) => {
        left += 1
        done(null)
      },
    })
  const withoutEnd = async function* () {
    try {
      for (;;) {
        yield Buffer.alloc(65_536)
        reached.resolve()
      }
    } finally {
      left += 1
    }
  }
  const never = new Promise<never>(() => {})
  for (const entries of [
    each(large(withoutEnd)),
    each(file('a', 'x'), large(hanging)),
    each(file('a', '', { size: 10, open: hanging })),
    (async function* () {
      yield file('a', 'x')
      left += 1
      reached.resolve()
      await never
    })(),
  ]) {
    const before = left
    reached = Promise.withResolvers()
    const abort = new AbortController()
    void reached.promise.then(() => abort.abort(reason))
    await fails(t, entries, reason, { signal: abort.signal })
    while (left === before) await new Promise(setImmediate)
    await fails(t, each(file('a', 'x')), reason, { signal: abort.signal })
  }
})

test('no file stays open', { skip: process.platform !== 'linux' }, async (t) => {
  const root = t.testdir({ source: 'x'.repeat(5_000_000) })
  const opened = () =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith(root)
      } catch {
        return false
      }
    })
  const { createReadStream } = await import('node:fs')
  const open = () => createReadStream(join(root, 'source'))
  for (const size of [5_000_000, 4_000_000, 6_000_000, 10]) {
    const entries = each(file('a', '', { size, open }), file('b', '', { size, open }))
    const writing = writeArchive(join(root, `${size}.tar.gz`), { header, entries })
    if (size === 5_000_000) await writing
    else await t.rejects(writing)
    while (opened().length > 0) await new Promise(setImmediate)
  }
  t.strictSame((await readdir(root)).sort(), ['5000000.tar.gz', 'source'])
})

test('a source that says less or more than it has fails the archive', async (t) => {
  const large = 'z'.repeat(3_000_000)
  for (const [content, size, message] of [
    ['abc', 4, /"a" has fewer than the 4 bytes/],
    ['abc', 2, /"a" has more than the 2 bytes/],
    ['', 1, /fewer/],
    ['abc', 0, /more/],
    [large, 3_000_001, /fewer/],
    [large, 2_999_999, /more/],
  ] as const) {
    const entries = each(file('before', 'x'), file('a', content, { size }), file('behind', 'x'))
    await fails(t, entries, { code: 'INTERNAL_ERROR', message })
  }
})

test('files that changed while they were read are named, and marked in the manifest', async (t) => {
  const root = t.testdir({ into: {} })
  const archive = join(root, 'backup.tar.gz')
  const entries = each(
    file('same', 'abcde', { changed: () => false }),
    file('in place', 'abcde', { changed: async () => true }),
  )
  t.strictSame((await writeArchive(archive, { header, entries })).changed, ['in place'])
  await unpackBackup(archive, join(root, 'into'), { maxBytes: 2 ** 30 })
  const manifest = JSON.parse(await readFile(join(root, 'into', 'manifest.json'), 'utf8'))
  t.strictSame(
    manifest.entries.flatMap(({ path, changed }: { path: string; changed?: true }) => (changed ? path : [])),
    ['in place'],
  )
  t.strictSame((await readdir(root)).sort(), ['backup.tar.gz', 'into'])
})

test('what a reader would refuse is not written', async (t) => {
  const failure = (message: RegExp) => ({ name: 'NodekeepError', message })
  const far = new Date(Number.NaN)
  for (const [name, entries, message] of [
    ['twice', [file('a', 'x'), file('a', 'y')], /an entry twice: "a"/],
    ['below a file', [file('a', 'x'), file('a/b', 'y')], /a file and a folder with one name/],
    ['the header', [file('backup.json', '{}')], /an entry twice: "backup\.json"/],
    ['the manifest', [file('manifest.json', '{}')], /an entry twice/],
    ['the checksums', [file('SHA256SUMS', '')], /an entry twice/],
    ['the payload', [file('payload.tar.gz.age', '')], /an entry twice/],
    ['absolute', [file('/a', 'x')], /leads out of the folder/],
    ['above', [file('a/../../b', 'x')], /leads out of the folder/],
    ['no name', [file('', 'x')], /empty name/],
    ['a long name', [file('x'.repeat(256), 'x')], /name that is too long/],
    ['half a character', [file('a\ud800', 'x')], /a name, a size or a time that no archive can hold/],
    ['no time', [file('a', 'x', { modified: far })], /a time that no archive can hold/],
    ['no birth', [file('a', 'x', { created: far })], /a time that no archive can hold/],
    ['no size', [file('a', 'x', { size: -1 })], /a size or a time/],
    ['a folder with content', [{ ...folder('d'), size: 3 }], /a size or a time/],
  ] as const) {
    t.comment(name)
    await fails(t, each(...entries), failure(message))
  }
})

test('an archive is not written over a file', async (t) => {
  const archive = join(t.testdir({ 'backup.tar.gz': 'precious' }), 'backup.tar.gz')
  await t.rejects(writeArchive(archive, { header, entries: each() }), { code: 'EEXIST' })
  t.equal(await readFile(archive, 'utf8'), 'precious')
})

test('a recipient that is not valid is named', async (t) => {
  const { recipient, identity } = await generateKey()
  const typo = `${recipient.slice(0, 20)}${recipient[20] === 'q' ? 'p' : 'q'}${recipient.slice(21)}`
  for (const [wrong, message] of [
    [typo, new RegExp(`The recipient "${typo}" is incomplete or has a typing error`)],
    [recipient.slice(0, 30), /is incomplete or/],
    ['ssh-ed25519 AAAA', /The recipient "ssh-ed25519 AAAA" is no recipient of age, which begins with age1/],
    ['', /which begins with age1/],
    ['age1tag1qqqq', /belongs to a device/],
  ] as const) {
    const failure = { code: 'VALIDATION_ERROR', message }
    await fails(t, each(file('a', 'x')), failure, { recipients: [recipient, wrong] })
  }
  const archive = join(t.testdir(), 'backup.tar.gz')
  const secret = writeArchive(archive, { header, entries: each(), recipients: [identity] })
  const error = await secret.then(
    () => null,
    (thrown: Error) => thrown,
  )
  t.match(error, { code: 'VALIDATION_ERROR', message: /One of the recipients is a secret key/ })
  t.notMatch(error?.message, identity)
})

test('an archive without entries, and one with many, tell their progress', async (t) => {
  const root = t.testdir()
  const none = join(root, 'none.tar.gz')
  await writeArchive(none, { header, entries: each() })
  t.match(await verifyArchive(none), { entries: 2 })

  const many = Array.from({ length: 5000 }, (_, index) => file(`f/${index % 7}/${index}`, `${index}`))
  const [archive, steps] = [join(root, 'many.tar.gz'), [] as number[]]
  const onProgress = ({ entries }: { entries: number }) => steps.push(entries)
  const { entries } = await writeArchive(archive, { header, entries: each(...many), onProgress, level: 1 })
  t.equal(entries, 5000)
  t.ok(steps.length > 2 && steps.every((step, index) => step >= (steps[index - 1] ?? 0)))
  t.match(await verifyArchive(archive), { entries: 5002 })
})

test('a full disk has its own error, and nothing is left', async (t) => {
  const found = await onSmallDisk('2m', new URL('./fixtures/fill-disk.ts', import.meta.url))
  if (found === null) return void t.pass('a full disk', { skip: 'Nothing can be mounted here.' })
  t.match(found, {
    create: { code: 'INSUFFICIENT_STORAGE', message: /the disk is full\. Free some space/ },
    createEncrypted: { code: 'INSUFFICIENT_STORAGE' },
    unpack: { code: 'INSUFFICIENT_STORAGE', message: /the disk is full\. Free some space/ },
    left: [],
  })
})
