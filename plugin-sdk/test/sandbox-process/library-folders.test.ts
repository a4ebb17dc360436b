import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { libraryFolders } from '@nodekeep/plugin-sdk/sandbox-process'
import { test } from 'tap'

test('The folders of libraries are those of all that they need', async (t) => {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'nodekeep-libraries-')))
  t.teardown(() => rm(root, { recursive: true, force: true }))
  const install = async (folder: string, manifest: object) => {
    await mkdir(join(root, folder), { recursive: true })
    await writeFile(join(root, folder, 'package.json'), JSON.stringify(manifest))
    await writeFile(join(root, folder, 'index.js'), '')
  }
  await install('node_modules/one', { name: 'one', dependencies: { '@scope/two': '*', three: '*' } })
  await install('node_modules/one/node_modules/three', { name: 'three', dependencies: { one: '*' } })
  await install('node_modules/@scope/two', { name: '@scope/two', optionalDependencies: { gone: '*' } })
  await install('node_modules/three', { name: 'three' })
  const from = pathToFileURL(join(root, 'plugin/index.js')).href
  const folders = (names: readonly string[]) =>
    libraryFolders(names, from)
      .map((folder) => `${relative(root, fileURLToPath(folder))}${folder.href.slice(-1)}`)
      .sort()
  t.strictSame(folders(['one']), [
    'node_modules/@scope/two/',
    'node_modules/one/',
    'node_modules/one/node_modules/three/',
  ])
  t.strictSame(folders(['three', '@scope/two']), ['node_modules/@scope/two/', 'node_modules/three/'])
  t.throws(() => folders(['gone']), /gone/)
})
