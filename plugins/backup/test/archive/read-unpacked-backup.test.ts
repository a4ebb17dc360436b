import { mkdir, readFile, rename, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { readHeader, unpackBackup, verifyArchive } from '../../src/archive/read-archive.ts'
import { writeArchive } from '../../src/archive/write-archive.ts'
import { each, expectedTree, file, folder, header, tree } from './fixtures/sources.ts'

const maxBytes = 2 ** 30

/** The entries of the folder. */
const entries = [folder('files/empty'), file('files/ada/a', 'alpha'), file('files/ada/b/c', 'gamma')]

/** A folder that another program has put back. Only that of an archive has checksums. */
async function storedFolder(t: Test, { hasSums }: { readonly hasSums: boolean }): Promise<string> {
  const root = t.testdir({ stored: {}, into: {} })
  const [archive, stored] = [join(root, 'backup.tar.gz'), join(root, 'stored')]
  await writeArchive(archive, { header, entries: each(...entries) })
  await unpackBackup(archive, stored, { maxBytes })
  if (hasSums) return stored
  const manifest = join(stored, 'manifest.json')
  const text = await readFile(manifest, 'utf8')
  await writeFile(manifest, text.replaceAll(/,"sha256":"[0-9a-f]+"/g, ''))
  return stored
}

test('a folder is verified and unpacked as its archive would be, with the times of its manifest', async (t) => {
  for (const hasSums of [true, false]) {
    const stored = await storedFolder(t, { hasSums })
    await writeFile(join(stored, 'files/ada/a'), 'alpha')
    await writeFile(join(stored, 'of the other program'), '')
    t.strictSame(await readHeader(stored), { header: { format: 1, ...header }, encrypted: false })
    const verified = await verifyArchive(stored)
    t.match(verified, { encrypted: false, entries: entries.length + 2 })
    const into = join(stored, '../into')
    t.strictSame(await unpackBackup(stored, into, { maxBytes }), verified)
    const found = await tree(into)
    t.match(found, await expectedTree(entries))
    t.notOk(found['of the other program'])
  }
})

test('a folder that differs from its manifest is refused', async (t) => {
  const isFirst = (path: string) =>
    new RegExp(`The archive stored differs from its manifest: the first difference is "${path}"`)
  const changes: readonly (readonly [string, (stored: string) => Promise<void>, RegExp])[] = [
    ['a file that was cut', (stored) => truncate(join(stored, 'files/ada/a'), 3), isFirst('files/ada/a')],
    ['a file that is missing', (stored) => rm(join(stored, 'files/ada/b/c')), isFirst('files/ada/b/c')],
    [
      'a folder that is a link',
      async (stored) => {
        await rename(join(stored, 'files/ada'), join(stored, 'elsewhere'))
        await symlink('../elsewhere', join(stored, 'files/ada'))
      },
      isFirst('files/ada'),
    ],
    [
      'a file that is a folder',
      async (stored) => {
        await rm(join(stored, 'files/ada/a'))
        await mkdir(join(stored, 'files/ada/a'))
      },
      isFirst('files/ada/a'),
    ],
    [
      'no manifest',
      (stored) => rm(join(stored, 'manifest.json')),
      /The archive stored is not whole: it has no manifest\.json/,
    ],
    [
      'no header',
      (stored) => rm(join(stored, 'backup.json')),
      /The archive stored is no backup of Nodekeep: it is a folder without backup\.json/,
    ],
  ]
  for (const [name, change, message] of changes) {
    const stored = await storedFolder(t, { hasSums: false })
    await change(stored)
    await t.rejects(verifyArchive(stored), { code: 'VALIDATION_ERROR', message }, name)
  }
  const stored = await storedFolder(t, { hasSums: true })
  await writeFile(join(stored, 'files/ada/a'), 'alpho')
  await t.rejects(verifyArchive(stored), { message: isFirst('files/ada/a') }, 'another content')
})
