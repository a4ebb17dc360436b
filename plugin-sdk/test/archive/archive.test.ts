import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream, writeFileSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { type Test, test } from 'tap'
import { create } from 'tar'
import {
  type ArchiveEntry,
  archiveEntries,
  archiveFailure,
  emptyFolder,
  type HashedEntry,
  unpackArchive,
  unpackEntries,
} from '../../src/archive.ts'
import { type Block, blockOf, pax, records, stored, tarOf } from './fixtures/archives.ts'

const maxBytes = 100 * 1024 * 1024

/** Every file below a folder with its content, and every folder with `null`. */
async function tree(folder: string): Promise<Record<string, string | null>> {
  const found: Record<string, string | null> = {}
  for (const path of (await readdir(folder, { recursive: true })).sort()) {
    const isFile = (await stat(join(folder, path))).isFile()
    found[path] = isFile ? await readFile(join(folder, path), 'latin1') : null
  }
  return found
}

/** Whole milliseconds since 1970. */
async function modified(path: string): Promise<number> {
  return Number((await stat(path, { bigint: true })).mtimeNs / 1_000_000n)
}

async function unpacked(t: Test, archive: Uint8Array): Promise<Record<string, string | null>> {
  const file = await stored(t, archive)
  const folder = join(dirname(file), 'into')
  await unpackArchive(file, folder, { maxBytes })
  return tree(folder)
}

const odd = [
  'plain',
  ' ',
  '-rf',
  'a\nb',
  'tab\t',
  'quote"\'',
  'back\\slash',
  '*',
  '~',
  'CON',
  'ünï',
  'a\u0308',
  '日本',
  '🙂',
  '\u202eabc',
  '%2e%2e',
  '...',
  'x'.repeat(255),
  '€'.repeat(85),
]

test('what tar packs is unpacked as it was, with times and rights', async (t) => {
  const source = t.testdir({ run: '#!/bin/sh', empty: '', folder: {} })
  for (const name of odd) await writeFile(join(source, name), name)
  const deep = join('folder', ...Array.from({ length: 8 }, () => 'é'.repeat(100)))
  await mkdir(join(source, deep), { recursive: true })
  await writeFile(join(source, deep, 'large'), Buffer.alloc(3_000_000, 'z'))
  await promisify(execFile)('chmod', ['700', join(source, 'run')])
  await utimes(join(source, 'plain'), 1_000_000_000, 1_000_000_000.25)
  await utimes(join(source, 'folder'), 1_100_000_000, 1_100_000_000)

  const archives = join(t.testdirName, '..', `${t.testdirName.split('/').at(-1)}-archives`)
  await mkdir(archives, { recursive: true })
  t.teardown(() => promisify(execFile)('rm', ['-r', archives]))
  const names = await readdir(source)
  const [ofLibrary, gnu, posix] = ['library', 'gnu', 'posix'].map((name) =>
    join(archives, `${name}.tar.gz`),
  ) as [string, string, string]
  const plain = names.filter((name) => !name.includes('\n') && !name.includes('\\'))
  await create({ file: ofLibrary, cwd: source, gzip: true }, plain)
  for (const [format, file] of Object.entries({ gnu, posix })) {
    await promisify(execFile)('tar', [`--format=${format}`, '-czf', file, '-C', source, '--', ...names])
  }

  const expected = await tree(source)
  for (const file of [ofLibrary, gnu, posix]) {
    const folder = `${file}-unpacked`
    await mkdir(folder)
    const told: HashedEntry[] = []
    const shares: number[] = []
    const onProgress = (share: number) => shares.push(share)
    await unpackArchive(file, folder, { maxBytes, onProgress }, (entry) => told.push(entry))
    const kept = Object.entries(expected).filter(
      ([path]) => file !== ofLibrary || plain.includes(path.split('/')[0] ?? ''),
    )
    t.strictSame(await tree(folder), Object.fromEntries(kept), file)
    t.equal(await modified(join(folder, 'plain')), file === gnu ? 1e12 : 1e12 + (file === posix ? 250 : 0))
    t.equal(await modified(join(folder, 'folder')), 1.1e12)
    t.equal((await stat(join(folder, 'run'))).mode & 0o100, 0o100)
    t.equal((await stat(join(folder, 'plain'))).mode & 0o111, 0)
    t.equal(told.length, kept.length)
    const large = told.find(({ size }) => size === 3_000_000)
    t.equal(large?.sha256, createHash('sha256').update(Buffer.alloc(3_000_000, 'z')).digest('hex'))
    t.equal(told.find(({ path }) => path === 'folder')?.sha256, null)
    t.ok(shares.length > 0 && shares.every((share, index) => share > (shares[index - 1] ?? 0) && share <= 1))

    const checked: HashedEntry[] = []
    const entries = archiveEntries(createReadStream(file), { maxBytes })
    for await (const entry of unpackEntries(entries, () => null)) checked.push(entry)
    t.strictSame(checked, told)
  }
})

test('an archive may have several members, at any place', async (t) => {
  const archive = tarOf({ path: 'a', body: 'x'.repeat(2000) }, { path: 'b/c', body: 'y' })
  for (const size of [7, 100, 512, 1111]) {
    const members: Buffer[] = []
    for (let at = 0; at < archive.length; at += size) members.push(gzipSync(archive.subarray(at, at + size)))
    t.strictSame(
      await unpacked(t, Buffer.concat(members)),
      { a: 'x'.repeat(2000), b: null, 'b/c': 'y' },
      `${size}`,
    )
  }
})

test('extended headers and long names name what follows, whatever is in them', async (t) => {
  const long = `${`${'d'.repeat(200)}/`.repeat(12)}ä\nb`
  const many = Object.fromEntries(
    Array.from({ length: 3000 }, (_, index) => [`SCHILY.xattr.${index}`, 'ä'.repeat(9)]),
  )
  t.match(await unpacked(t, tarOf(pax({ ...many, path: long }), { path: 'short', body: '1' })), {
    [long]: '1',
  })
  t.match(
    await unpacked(
      t,
      tarOf({ path: 'x', type: 'NextFileHasLongPath', body: `${long}\0` }, { path: 's', body: '1' }),
    ),
    {
      [long]: '1',
    },
  )
  const sized = Buffer.concat([
    blockOf(pax({ size: '3' })),
    blockOf({ path: 'a', size: 0 }),
    Buffer.alloc(512, 'z'),
    Buffer.alloc(1024),
  ])
  t.strictSame(await unpacked(t, sized), { a: 'zzz' })
})

test('times are exact to the millisecond, also before 1970', async (t) => {
  const times = [0, 1, 129, 999, 1001, 1_700_000_000_129, 1_700_000_000_999, -1, -1500, -123_456_789]
  const files = times.flatMap((time, index) => [pax({ mtime: `${time / 1000}` }), { path: `f${index}` }])
  const file = await stored(t, tarOf(...files, pax({ mtime: '1700000000.129999999' }), { path: 'ns' }))
  const into = join(dirname(file), 'into')
  const told: HashedEntry[] = []
  await unpackArchive(file, into, { maxBytes }, (entry) => told.push(entry))
  t.strictSame(
    told.map((entry) => entry.modified.getTime()),
    [...times, 1_700_000_000_130],
  )
  for (const [index, time] of times.entries()) {
    t.equal((await stat(join(into, `f${index}`))).mtime.getTime(), time, `${time}`)
    if (time >= 0) t.equal(await modified(join(into, `f${index}`)), time, `${time}, cut`)
  }
})

test('entries go where the caller says, and those that go nowhere are read all the same', async (t) => {
  const folder = t.testdir({ here: {}, there: {} })
  const archive = gzipSync(
    tarOf(
      { path: 'a/', type: 'Directory' },
      { path: 'a/one', body: 'one' },
      { path: 'a/two', body: 'two' },
      { path: 'b/', type: 'Directory' },
      { path: 'b/three', body: 'three' },
    ),
  )
  async function* chunks() {
    yield archive
  }
  const asked: string[] = []
  const place = ({ path }: ArchiveEntry) => {
    asked.push(path)
    if (path.startsWith('b/') || path === 'b') return null
    return join(folder, path === 'a/two' ? 'there/second' : join('here', path))
  }
  const read = await Array.fromAsync(
    unpackEntries(archiveEntries(chunks(), { maxBytes }), place, { sync: true }),
  )
  t.strictSame(asked, ['a', 'a/one', 'a/two', 'b', 'b/three'], 'once for each')
  t.strictSame(
    read.map(({ path, sha256 }) => [path, sha256]),
    [
      ['a', null],
      ...['one', 'two'].map((name) => [`a/${name}`, createHash('sha256').update(name).digest('hex')]),
      ['b', null],
      ['b/three', createHash('sha256').update('three').digest('hex')],
    ],
  )
  t.strictSame(await tree(folder), {
    here: null,
    'here/a': null,
    'here/a/one': 'one',
    there: null,
    'there/second': 'two',
  })
  t.equal(await modified(join(folder, 'here/a')), 1e12)
})

test('paths that are longer than the system takes are unpacked, and removed', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const names = Array.from({ length: 32 }, (_, index) => `${index}`.padEnd(250, 'é').slice(0, 120))
  const path = names.join('/')
  const file = await stored(
    t,
    tarOf(pax({ path }), { path: 'x', body: 'deep' }, pax({ path: `${path}-folder/` }), {
      path: 'y',
      type: 'Directory',
    }),
  )
  t.ok(Buffer.byteLength(path) > 4096 * 1.5)
  const into = join(dirname(file), 'into')
  await unpackArchive(file, into, { maxBytes })
  const { stdout } = await promisify(execFile)('find', [into, '-type', 'f', '-printf', '%P %s'])
  t.equal(stdout, `${path} 4`)

  await emptyFolder(into)
  t.strictSame(await readdir(into), [])
  const broken = await stored(t, Buffer.concat([tarOf(pax({ path }), { path: 'x' }), Buffer.of(1)]))
  await t.rejects(unpackArchive(broken, join(dirname(broken), 'into'), { maxBytes }), {
    message: /behind its end/,
  })
  t.strictSame(await readdir(join(dirname(broken), 'into')), [])
})

test('while a folder is emptied, other files of the process are read', async (t) => {
  const root = t.testdir({ full: { inner: {} }, other: '' })
  const files = 1000
  for (let index = 0; index < files; index += 1) writeFileSync(join(root, 'full/inner', `${index}`), '')
  let isOver = false
  const emptied = emptyFolder(join(root, 'full')).finally(() => {
    isOver = true
  })
  let reads = 0
  for (; !isOver; reads += 1) await stat(join(root, 'other'))
  await emptied
  t.ok(reads > files / 10, `${reads} times`)
  t.strictSame(await readdir(root), ['full', 'other'])
  t.strictSame(await readdir(join(root, 'full')), [])
})

const link = (type: string, more = {}): Block => ({ path: 'l', type, linkpath: '/etc/passwd', ...more })
const twice = { path: 'a/b', body: '1' }

const hostile = {
  'a symbolic link': [tarOf(link('SymbolicLink')), /neither a file nor a folder: "l" \(SymbolicLink\)/],
  'a hard link': [tarOf(link('Link')), /neither a file nor a folder/],
  'a link in an extended header': [tarOf(pax({ linkpath: '/etc' }), { path: 'a' }), /has a link/],
  'a file with the target of a link': [tarOf({ path: 'a', linkpath: '/etc' }), /has a link/],
  'a device': [
    tarOf({ path: 'd', type: 'CharacterDevice', devmaj: 1, devmin: 3 }),
    /neither a file nor a folder/,
  ],
  'a pipe': [tarOf({ path: 'd', type: 'FIFO' }), /neither a file nor a folder/],
  'a contiguous file': [tarOf({ path: 'd', type: 'ContiguousFile' }), /neither a file nor a folder/],
  'a sparse file of GNU': [tarOf({ path: 'd', type: 'SparseFile' }), /neither a file nor a folder/],
  'a sparse file of POSIX': [tarOf(pax({ 'GNU.sparse.major': '1' }), { path: 'a' }), /sparse file/],
  'a global header': [
    tarOf({ ...pax({ path: 'x' }), type: 'GlobalExtendedHeader' }, { path: 'a' }),
    /neither/,
  ],
  'an unknown type': [tarOf({ path: 'v', type: 'TapeVolumeHeader' }), /neither a file nor a folder/],
  'the folder above': [tarOf({ path: '../a' }), /leads out of the folder: "\.\.\/a"/],
  'the folder above, in the middle': [tarOf({ path: 'a/../../b' }), /leads out/],
  'the folder above, at the end': [tarOf({ path: 'a/..', type: 'Directory' }), /leads out/],
  'the folder above, in an extended header': [tarOf(pax({ path: '../../a' }), { path: 'a' }), /leads out/],
  'the folder above, in a long name': [
    tarOf({ path: 'x', type: 'NextFileHasLongPath', body: 'a/../../b\0' }, { path: 'a' }),
    /leads out/,
  ],
  'an absolute path': [tarOf({ path: '/etc/cron.d/a' }), /leads out/],
  'an absolute path in an extended header': [tarOf(pax({ path: '/a' }), { path: 'a' }), /leads out/],
  'a NUL': [tarOf(pax({ path: 'a\0b' }), { path: 'a' }), /NUL/],
  'an empty name': [tarOf({ path: 'a//b' }), /empty name/],
  'this folder': [tarOf({ path: './a' }), /empty name or "\."/],
  'no name': [tarOf(pax({ path: '' }), { path: 'a' }), /empty name/],
  'a long name': [tarOf(pax({ path: 'x'.repeat(256) }), { path: 'a' }), /name that is too long/],
  'a long path': [tarOf(pax({ path: 'x/'.repeat(5000) }), { path: 'a' }), /path that is too long/],
  'a name that is not UTF-8': [
    tarOf({ ...pax({}), body: Buffer.from('9 path=\xff\n', 'latin1') }, { path: 'a' }),
    /not UTF-8/,
  ],
  'a file twice': [tarOf(twice, twice), /an entry twice: "a\/b"/],
  'a folder twice': [
    tarOf({ path: 'a/', type: 'Directory' }, { path: 'a/', type: 'Directory' }),
    /an entry twice/,
  ],
  'a file where a folder is': [tarOf(twice, { path: 'a' }), /an entry twice: "a"/],
  'a folder where a file is': [tarOf({ path: 'a' }, { path: 'a/', type: 'Directory' }), /an entry twice/],
  'a file below a file': [tarOf({ path: 'a' }, twice), /a file and a folder with one name/],
  'a folder with content': [
    tarOf(pax({ size: '3' }), { path: 'a/', type: 'Directory' }),
    /folder with content/,
  ],
  'a path twice': [tarOf(pax({ path: 'a' }), pax({ path: 'b' }), { path: 'c' }), /two extended headers/],
  'a path twice in one header': [
    tarOf(
      { ...pax({}), body: Buffer.concat([records({ path: 'a' }), records({ path: 'b' })]) },
      { path: 'c' },
    ),
    /a key twice/,
  ],
  'records that overlap': [
    tarOf({ ...pax({}), body: '99 path=a\n' }, { path: 'c' }),
    /extended header cannot be read/,
  ],
  'a negative size': [tarOf(pax({ size: '-1' }), { path: 'a' }), /size of an entry cannot be read/],
  'a huge size': [tarOf(pax({ size: '9'.repeat(20) }), { path: 'a' }), /size of an entry cannot be read/],
  'a huge extended header': [
    tarOf({ ...pax({}), body: Buffer.alloc(1024 * 1024 + 1, 'x') }, { path: 'a' }),
    /wrong size/,
  ],
  'a header with a wrong checksum': [Buffer.from(tarOf({ path: 'a' })).fill(0x62, 0, 1), /wrong checksum/],
  'a number in a wrong form': [
    Buffer.from(tarOf({ path: 'a' })).fill(0x81, 124, 125),
    /header cannot be read/,
  ],
  'a number that is too large': [
    Buffer.from(tarOf({ path: 'a' }))
      .fill(0x80, 124, 125)
      .fill(0x7f, 125, 136),
    /header cannot be read/,
  ],
  'an extended header for nothing': [tarOf(pax({ path: 'a' })), /an entry is missing/],
  'no end': [tarOf({ path: 'a' }).subarray(0, 512), /cut short/],
  'half an end': [tarOf({ path: 'a' }).subarray(0, 1024), /cut short/],
  'a content that is cut short': [
    tarOf({ path: 'a', body: 'x'.repeat(2000) }).subarray(0, 1024),
    /cut short/,
  ],
  'a second archive behind the first': [
    Buffer.concat([tarOf({ path: 'a' }), tarOf({ path: 'b' })]),
    /behind its end/,
  ],
  'a second archive in a member of its own': [
    Buffer.concat([gzipSync(tarOf({ path: 'a' })), gzipSync(tarOf({ path: 'b' }))]),
    /behind its end/,
  ],
  'something behind the gzip file': [
    Buffer.concat([gzipSync(tarOf({ path: 'a' })), Buffer.alloc(9)]),
    /behind its end/,
  ],
  'a gzip file that is cut short': [gzipSync(tarOf({ path: 'a' })).subarray(0, -4), /damaged or cut short/],
  'a gzip file in a gzip file': [gzipSync(gzipSync(tarOf({ path: 'a' }))), /cut short|checksum/],
  'no archive': [Buffer.from('\x1f\x8bnothing', 'latin1'), /no gzip file/],
} satisfies Record<string, [archive: Uint8Array, message: RegExp]>

/** Those whose faults are found by different parts of the reading. */
const unpackedInThread = [
  'a symbolic link',
  'the folder above',
  'a file twice',
  'a content that is cut short',
  'something behind the gzip file',
  'a gzip file that is cut short',
  'no archive',
] as const

for (const [name, [archive, message]] of Object.entries(hostile)) {
  test(`${name} is refused, and makes nothing outside of its folder`, async (t) => {
    const file = await stored(t, archive)
    const entries = archiveEntries(createReadStream(file), { maxBytes })
    const failure = await Array.fromAsync(unpackEntries(entries, join(dirname(file), 'into'))).catch(
      archiveFailure,
    )
    t.match(failure, { code: 'VALIDATION_ERROR', message })
    t.strictSame((await readdir(dirname(file))).sort(), ['archive.tar.gz', 'into'])
  })
}

for (const name of unpackedInThread) {
  test(`${name} is refused by an unpacking, and nothing is left`, async (t) => {
    const [archive, message] = hostile[name]
    const file = await stored(t, archive)
    const into = join(dirname(file), 'into')
    await t.rejects(unpackArchive(file, into, { maxBytes }), { code: 'VALIDATION_ERROR', message })
    t.strictSame(await readdir(into), [])
    t.strictSame((await readdir(dirname(file))).sort(), ['archive.tar.gz', 'into'])
  })
}

test('a bomb ends at the bound, and the event loop runs on', async (t) => {
  const member = gzipSync(Buffer.alloc(1_000_000))
  const bomb = Buffer.concat(Array.from({ length: 100 }, () => member))
  const head = gzipSync(blockOf({ path: 'a', size: 100_000_000 }))
  const file = await stored(t, Buffer.concat([head, bomb]))
  const into = join(dirname(file), 'into')
  let turns = 0
  const timer = setInterval(() => (turns += 1), 1)
  const failure = { code: 'PAYLOAD_TOO_LARGE', message: /more than the 20000000 bytes/ }
  await t.rejects(unpackArchive(file, into, { maxBytes: 20_000_000 }), failure)
  clearInterval(timer)
  t.ok(turns > 1, `${turns} turns`)
  t.strictSame(await readdir(into), [])
})

test('entries and the folders above them are bounded', async (t) => {
  const failure = { code: 'PAYLOAD_TOO_LARGE', message: /more than the 100 files and folders/ }
  const unpackingOf = async (archive: Uint8Array) => {
    const file = await stored(t, archive)
    await unpackArchive(file, join(dirname(file), 'into'), { maxBytes, maxEntries: 100 })
  }
  const many = tarOf(...Array.from({ length: 101 }, (_, index) => ({ path: `f${index}` })))
  await t.rejects(unpackingOf(many), failure)
  const deep = tarOf(pax({ path: `${'d/'.repeat(100)}f` }), { path: 'x' })
  await t.rejects(unpackingOf(deep), failure)
})

test('an abort stops the reading and empties the folder', async (t) => {
  const file = await stored(
    t,
    tarOf(...Array.from({ length: 500 }, (_, i) => ({ path: `f${i}`, body: 'x'.repeat(5000) }))),
  )
  const into = join(dirname(file), 'into')
  const abort = new AbortController()
  const reason = new Error('enough')
  const unpacking = unpackArchive(file, into, { maxBytes, signal: abort.signal }, () => abort.abort(reason))
  await t.rejects(unpacking, reason)
  t.strictSame(await readdir(into), [])
  await t.rejects(unpackArchive(file, into, { maxBytes, signal: abort.signal }), reason)
})

test('only an empty folder is unpacked into, and a missing archive has its own error', async (t) => {
  const file = await stored(t, tarOf({ path: 'a' }))
  const into = join(dirname(file), 'into')
  await symlink('/etc', join(into, 'there'))
  await t.rejects(unpackArchive(file, into, { maxBytes }), { code: 'CONFLICT' })
  t.strictSame(await readdir(into), ['there'], 'it is left alone')
  await t.rejects(unpackArchive(`${file}2`, t.testdir(), { maxBytes }), {
    code: 'NOT_FOUND',
    message: /archive\.tar\.gz2 does not exist/,
  })
})

test('entries are read one by one, whole, in part or not at all', async (t) => {
  const large = 'z'.repeat(9_000_000)
  const file = await stored(
    t,
    tarOf(
      { path: 'first', body: '1' },
      { path: 'd/', type: 'Directory' },
      { path: 'large', body: large },
      { path: 'last', body: '2' },
    ),
  )
  const contents: Record<string, string> = {}
  for await (const { path, content } of archiveEntries(createReadStream(file), { maxBytes }))
    contents[path] = await text(content)
  t.strictSame(contents, { first: '1', d: '', large, last: '2' })

  const paths: string[] = []
  let part = 0
  for await (const { path, content } of archiveEntries(createReadStream(file), { maxBytes })) {
    paths.push(path)
    if (path !== 'large') continue
    for await (const chunk of content) {
      part = chunk.length
      break
    }
  }
  t.strictSame(paths, ['first', 'd', 'large', 'last'])
  t.ok(part > 0 && part < large.length)
  for await (const { path } of archiveEntries(createReadStream(file), { maxBytes })) {
    t.equal(path, 'first')
    break
  }
  const cut = await stored(t, gzipSync(tarOf({ path: 'a', body: large })).subarray(0, 4000))
  const readAll = async () => {
    for await (const { content } of archiveEntries(createReadStream(cut), { maxBytes })) await text(content)
  }
  const failure = await readAll().catch(archiveFailure)
  t.match(failure, { code: 'VALIDATION_ERROR' })
})
