import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openLocalBackend } from '../../src/open-local-backend.ts'
import { contentsOf, temporaryFolder } from '../fixtures/storage-folder.ts'

t.test('a folder with an entry that listings leave out is not empty', async (t) => {
  const root = temporaryFolder(t)
  const backend = await openLocalBackend({ root })
  t.teardown(() => backend.close())
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
