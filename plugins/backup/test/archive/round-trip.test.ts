import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { emptyFolder } from '@nodekeep/plugin-sdk/archive'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import { readHeader, unpackBackup, verifyArchive } from '../../src/archive/read-archive.ts'
import type { ArchiveSource } from '../../src/archive/read-sources.ts'
import { generateKey } from '../../src/archive/recovery-key.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { each, expectedTree, file, folder, header, isInstalled, run, tree } from './fixtures/sources.ts'

const maxBytes = 2 ** 30
const noAge = (await isInstalled('age')) ? false : 'age is not installed'

const odd = [
  ' ',
  '-rf',
  'a\nb',
  'c\rd',
  'tab\t',
  'quote"\'',
  'back\\slash',
  '*',
  '~',
  'CON',
  'ünï',
  'a\u0308',
  'ä',
  '日本',
  '🙂',
  '\u202eabc',
  '%2e%2e',
  '...',
  '=',
  '12 path=x',
  'x'.repeat(255),
  '€'.repeat(85),
]

function oddEntries(): ArchiveSource[] {
  const deep = Array.from({ length: 15 }, (_, index) => `${index}`.padEnd(250, 'z')).join('/')
  return [
    folder('empty folder'),
    ...odd.map((name, index) => file(name, name, { modified: new Date(1_700_000_000_000 + index * 37) })),
    file('empty', ''),
    file(`${deep}/end`, 'deep'),
    file('old', 'before 1970', { modified: new Date(-123_456_789) }),
    file('whole', 'a whole second', { modified: new Date(1_600_000_000_000) }),
    file('random', randomBytes(300_000)),
    file('zeros', Buffer.alloc(1_000_000)),
    file('block', 'x'.repeat(512)),
    folder('dir/inner'),
    file('dir/inner/file', 'x'.repeat(513)),
    folder('dir'),
  ]
}

async function written(
  t: Test,
  entries: readonly ArchiveSource[],
  recipients: string[] = [],
): Promise<{ archive: string; into: string; size: number }> {
  const root = t.testdir({ into: {}, plain: {} })
  const archive = join(root, 'backup-20261120-123456.tar.gz')
  const { size, ...counts } = await writeArchive(archive, { header, entries: each(...entries), recipients })
  const bytes = entries.reduce((sum, entry) => sum + entry.size, 0)
  t.strictSame(counts, { entries: entries.length, bytes, changed: [] })
  t.equal((await stat(archive)).size, size)
  return { archive, into: join(root, 'into'), size }
}

test('plain tar and sha256sum open an archive', async (t) => {
  const entries = oddEntries()
  const { archive, into } = await written(t, entries)
  t.equal(await run('tar', '-xzf', archive, '-C', into), '')
  const { 'backup.json': _header, 'manifest.json': _manifest, SHA256SUMS: _sums, ...found } = await tree(into)
  const expected = await expectedTree(entries)
  t.match(found, expected)
  const unnamed = Object.keys(found).filter((path) => !(path in expected))
  t.ok(unnamed.every((path) => entries.some((entry) => entry.path.startsWith(`${path}/`))))

  const sums = await run('sh', '-c', 'cd "$1" && sha256sum -c SHA256SUMS', 'sh', into)
  t.equal(sums.match(/: OK$/gm)?.length, entries.filter(({ type }) => type === 'file').length + 1)
  const first = await run('tar', '-tzf', archive)
  t.match(first, /^backup\.json\n/)
  t.match(first, /\nSHA256SUMS\nmanifest\.json\n$/)
  t.strictSame(JSON.parse(await readFile(join(into, 'backup.json'), 'utf8')), { format: 1, ...header })
  t.equal((await stat(join(into, 'old'))).mode & 0o077, 0, 'only the owner may read')
})

test('the manifest has the checksum, size and times of each entry', async (t) => {
  const created = new Date('2020-02-02T02:02:02.222Z')
  const { archive, into } = await written(t, [
    folder('dir'),
    file('dir/a', 'alpha', { created }),
    file('b\nc', 'beta', { changed: () => false }),
  ])
  await unpackBackup(archive, into, { maxBytes })
  const text = await readFile(join(into, 'manifest.json'), 'utf8')
  const { format, entries } = JSON.parse(text)
  t.equal(format, 1)
  t.equal(text.split('\n').length, entries.length + 3, 'one entry on each line')
  const modified = '2026-01-02T03:04:05.678Z'
  t.match(entries, [
    { path: 'backup.json', type: 'file', modified: header.created },
    { path: 'dir', type: 'directory', size: 0, modified: '2025-06-07T08:09:10.111Z' },
    {
      path: 'dir/a',
      type: 'file',
      size: 5,
      modified,
      created: created.toISOString(),
      sha256: '8ed3f6ad685b959ead7022518e1af76cd816f8e8ec7ccdda1ed4018e8f2223f8',
    },
    { path: 'b\nc', type: 'file', size: 4, modified },
    { path: 'SHA256SUMS', type: 'file', size: 222, modified: header.created },
  ])
  t.strictSame(Object.keys(entries[1]), ['path', 'type', 'size', 'modified'])
})

test('an archive is verified and unpacked as it was', async (t) => {
  const entries = oddEntries()
  const { archive, into } = await written(t, entries)
  t.strictSame(await readHeader(archive), { header: { format: 1, ...header }, encrypted: false })
  const shares: number[] = []
  const verified = await verifyArchive(archive, { onProgress: (share) => shares.push(share) })
  t.match(verified, { header: { format: 1, ...header }, encrypted: false, entries: entries.length + 2 })
  t.ok(shares.length > 0 && shares.every((share, index) => share > (shares[index - 1] ?? 0) && share <= 1))
  t.strictSame(await unpackBackup(archive, into, { maxBytes }), verified)
  t.match(await tree(into), await expectedTree(entries))
})

test('a path of 4,096 bytes and more is kept', { skip: process.platform !== 'linux' }, async (t) => {
  const path = `${Array.from({ length: 16 }, (_, index) => `${index}`.padEnd(255, 'y')).join('/')}/end`
  t.ok(path.length > 4096)
  const { archive, into } = await written(t, [file(`files/${path}`, 'deep')])
  await unpackBackup(archive, into, { maxBytes })
  t.equal(await run('find', into, '-name', 'end', '-printf', '%P %s'), `files/${path} 4`)
  await emptyFolder(into)
})

test('whatever names and contents an archive has, it is restored as it was', async (t) => {
  const name = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 40 })
    .map((text) => text.replaceAll(/[/\0]/g, '_'))
    .filter((text) => text !== '.' && text !== '..' && text.isWellFormed() && Buffer.byteLength(text) < 250)
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => ['files', ...names].join('/'))
  const entry = fc.record({
    path,
    isFolder: fc.boolean(),
    size: fc.oneof(fc.nat(2000), fc.constantFrom(0, 511, 512, 513, 65_536, 65_537, 1_048_576)),
    modified: fc.date({ min: new Date('1950-01-01'), max: new Date('2100-01-01'), noInvalidDate: true }),
    pieces: fc.integer({ min: 1, max: 5 }),
    isRandom: fc.boolean(),
  })
  const list = fc.uniqueArray(entry, { selector: (it) => it.path, maxLength: 12 }).map((all) =>
    // No file has entries below it.
    all.filter(
      (it) => it.isFolder || !all.some((other) => other !== it && other.path.startsWith(`${it.path}/`)),
    ),
  )
  const { identity, recipient } = await generateKey()
  const root = t.testdir()
  let round = 0
  await fc.assert(
    fc.asyncProperty(list, fc.constantFrom('tar', 'nodekeep', 'encrypted'), async (all, way) => {
      round += 1
      const [archive, into] = [join(root, `${round}.tar.gz`), join(root, `${round}`)]
      await mkdir(into)
      const entries = all.map(({ path, isFolder, size, modified, pieces, isRandom }) => {
        if (isFolder) return folder(path, modified)
        const bytes = isRandom ? randomBytes(size) : Buffer.alloc(size, 'text ')
        const step = Math.ceil(size / pieces) || 1
        return file(path, bytes, {
          modified,
          async *open() {
            for (let at = 0; at < size; at += step) yield bytes.subarray(at, at + step)
          },
        })
      })
      const recipients = way === 'encrypted' ? [recipient] : []
      await writeArchive(archive, { header, entries: each(...entries), recipients })
      if (way === 'tar') await run('tar', '-xzf', archive, '-C', into)
      else await unpackBackup(archive, into, { maxBytes, identities: [identity] })
      const found = await tree(into)
      const expected = await expectedTree(entries)
      return Object.entries(expected).every(([path, what]) => found[path] === what)
    }),
    { numRuns: 8 },
  )
})

test('an encrypted archive shows its header only, and opens with each of its keys', async (t) => {
  const entries = oddEntries()
  const [key, second, other] = await Promise.all([generateKey(), generateKey(), generateKey()])
  const { archive, into } = await written(t, entries, [key.recipient, second.recipient])
  t.equal(await run('tar', '-tzf', archive), 'backup.json\npayload.tar.gz.age\n')
  t.strictSame(await readHeader(archive), { header: { format: 1, ...header }, encrypted: true })
  for (const { identity } of [key, second]) {
    const verified = await verifyArchive(archive, { identities: [other.identity, identity] })
    t.match(verified, { encrypted: true, entries: entries.length + 2 })
  }
  await unpackBackup(archive, into, { maxBytes, identities: [key.identity] })
  t.match(await tree(into), await expectedTree(entries))
})

test('age, tar and sha256sum open an encrypted archive', { skip: noAge }, async (t) => {
  const entries = oddEntries()
  const key = await generateKey()
  const { archive, into } = await written(t, entries, [key.recipient])
  const plain = join(into, '..', 'plain')
  await run('sh', '-c', 'printf "%s\n" "$1" > "$2/key"', 'sh', key.identity, plain)
  await run('tar', '-xzf', archive, '-C', plain)
  await run(
    'sh',
    '-c',
    'cd "$1" && age -d -i key payload.tar.gz.age | tar -xz && sha256sum -c SHA256SUMS',
    'sh',
    plain,
  )
  t.match(await tree(plain), await expectedTree(entries))

  // The payload is a whole archive of its own.
  await run(
    'sh',
    '-c',
    'cd "$1" && age -d -i key -o inner.tar.gz payload.tar.gz.age && rm payload.tar.gz.age',
    'sh',
    plain,
  )
  t.match(await verifyArchive(join(plain, 'inner.tar.gz')), {
    encrypted: false,
    entries: entries.length + 2,
  })
})

test('a file over 8 GiB has its size in the archive', { skip: !existsSync('/dev/zero') }, async (t) => {
  const { tarHeader, shortTarHeader } = await import('../../src/archive/tar-blocks.ts')
  const size = 20 * 2 ** 30 + 5
  const head = { path: 'large', type: 'file' as const, size, modified: new Date(1e12) }
  for (const block of [tarHeader(head), shortTarHeader(head)]) {
    const root = t.testdir()
    const archive = join(root, 'large.tar')
    const { open } = await import('node:fs/promises')
    const handle = await open(archive, 'wx')
    await handle.write(block, 0, block.length, 0)
    await handle.truncate(block.length + Math.ceil(size / 512) * 512 + 1024)
    await handle.close()
    t.match(await run('tar', '-tvf', archive), new RegExp(` ${size} .* large\n`))
  }
})
