import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { readHeader, unpackBackup, verifyArchive } from '../../src/archive/read-archive.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { each, sha256, tree } from './fixtures/sources.ts'

// These archives were made by the version that had the format first, and are never made again.

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))

const header = {
  format: 1,
  nodekeep: '0.1.0',
  created: '2026-11-23T00:00:00.500Z',
  plugins: [{ id: 'files', version: '0.1.0' }],
  omitted: [{ what: 'files/alice/link', why: 'It is a link.' }],
}

const modified = '2026-01-02T03:04:05.678Z'
const file = (content: string, time = modified) => `${sha256(Buffer.from(content))} ${time}`

for (const [name, encrypted] of [
  ['format-1.tar.gz', false],
  ['format-1-encrypted.tar.gz', true],
] as const) {
  test(`${name} is verified and unpacked`, async (t) => {
    const identities = encrypted ? [await readFile(fixture('format-1.key'), 'utf8')] : []
    t.strictSame(await readHeader(fixture(name)), { header, encrypted })
    const verified = { header, encrypted, entries: 11 }
    t.match(await verifyArchive(fixture(name), { identities }), verified)
    const into = t.testdir()
    t.match(await unpackBackup(fixture(name), into, { identities, maxBytes: 1_000_000 }), verified)
    t.match(await tree(into), {
      'files/alice/hello.txt': file('Hello.\n'),
      'files/alice/Grüße 🙂.txt': file('Viele Grüße\n'),
      'files/alice/a line\nbreak': file(''),
      'files/alice/old': file('before 1970', '1969-07-20T20:17:40.250Z'),
      'files/alice/log': file('half\0\0\0\0'),
      'files/alice/empty': 'folder 2025-06-07T08:09:10.111Z',
      [join('files/alice', 'd'.repeat(120), 'f'.repeat(120))]: file('x'.repeat(2000)),
    })
    const manifest = JSON.parse(await readFile(join(into, 'manifest.json'), 'utf8'))
    t.match(
      manifest.entries.find(({ path }: { path: string }) => path === 'files/alice/hello.txt'),
      { created: '2024-05-06T07:08:09.010Z' },
    )
    t.match(
      manifest.entries.filter(({ changed }: { changed?: true }) => changed),
      [{ path: 'files/alice/log' }],
    )
  })
}

test('a header tells where users see their files, by paths', async (t) => {
  const { format: _, ...own } = header
  const archive = join(t.testdir(), 'backup.tar.gz')
  const mounts = { '/': 'files/local', '/archive': 'files/cold' }
  await writeArchive(archive, { header: { ...own, mounts }, entries: each() })
  t.match(await readHeader(archive), { header: { mounts } })
  for (const [name, wrong] of [
    null,
    'files/local',
    7,
    [1],
    { archive: 'files/cold' },
    { '/': 7 },
  ].entries()) {
    const file = join(t.testdir(), `${name}.tar.gz`)
    await writeArchive(file, { header: { ...own, mounts: wrong as never }, entries: each() })
    await t.rejects(readHeader(file), { code: 'VALIDATION_ERROR', message: /backup\.json cannot be read/ })
  }
})
