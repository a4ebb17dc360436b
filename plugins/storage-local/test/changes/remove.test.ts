import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Disk, localDisk } from '../../src/disk/disk.ts'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { chunks, contentsOf, leftovers, temporaryFolder } from '../fixtures/storage-folder.ts'

async function opened(t: Test, disk: Disk = localDisk) {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root, disk })
  t.teardown(() => backend.close())
  return { root, backend }
}

t.test('a folder with something that listings leave out is not empty', async (t) => {
  const { root, backend } = await opened(t)
  const plants: Record<string, (folder: string) => void> = {
    link: (folder) => symlinkSync('/etc/passwd', join(folder, 'link')),
    'dead link': (folder) => symlinkSync('nowhere', join(folder, 'link')),
    'illegible name': (folder) => writeFileSync(Buffer.from(`${folder}/caf\xe9`, 'latin1'), 'x'),
    'name in no normal form': (folder) => mkdirSync(join(folder, '\u212a')),
  }
  for (const [name, plant] of Object.entries(plants)) {
    const folder = join(root, name)
    mkdirSync(folder)
    plant(folder)
    t.strictSame(await Array.fromAsync(backend.list(`/${name}`)), [])
    await t.rejects(backend.remove(`/${name}`, { onlyIfEmpty: true }), { code: 'CONFLICT' }, name)
    await backend.remove(`/${name}`)
  }
  t.strictSame(contentsOf(root), {})
})

/** Does something just before the backend takes a file away: what another program may do after every look. */
function betweenLookAndRemoval(act: () => void): Disk {
  return {
    ...localDisk,
    async rename(from, to) {
      act()
      return localDisk.rename(from, to)
    },
  }
}

t.test('a removed version is never another one that a program puts there at that very moment', async (t) => {
  const replacements: Record<string, [replace: (path: string) => void, left: string]> = {
    'another file': [
      (path) => {
        writeFileSync(`${path}.new`, 'theirs')
        renameSync(`${path}.new`, path)
      },
      '/folder/file',
    ],
    'other bytes': [(path) => writeFileSync(path, 'theirs'), '/folder/file'],
    'a folder': [
      (path) => {
        rmSync(path)
        mkdirSync(path)
        writeFileSync(join(path, 'inner'), 'theirs')
      },
      '/folder/file/inner',
    ],
    'a link': [
      (path) => {
        rmSync(path)
        writeFileSync(`${path}.target`, 'theirs')
        symlinkSync('file.target', path)
      },
      '/folder/file',
    ],
  }
  for (const [name, [replace, left]] of Object.entries(replacements)) {
    let armed = false
    let path = ''
    const disk = betweenLookAndRemoval(() => {
      if (armed) replace(path)
      armed = false
    })
    const { root, backend } = await opened(t, disk)
    path = join(root, 'folder', 'file')
    const { revision } = await backend.write('/folder/file', chunks('ours'))
    armed = true
    const removal = backend.remove('/folder/file', { ifRevision: revision })
    await t.rejects(removal, { code: 'PRECONDITION_FAILED' }, name)
    t.equal(contentsOf(root)[left], 'theirs', name)
    t.strictSame(leftovers(root), [])
  }
})
