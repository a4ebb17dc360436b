import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'tap'
import { makePlugin } from '../src/make-plugin.ts'

const read = (...path: string[]) => readFile(join(...path), 'utf8')

test('a plugin has the names of its author, and nothing of the example remains in them', async (t) => {
  const into = t.testdir()
  for (const [kind, name, folder, id] of [
    ['ai', 'my-provider', 'my-provider', 'ai-my-provider'],
    ['storage', 'my-backend', 'my-backend', 'storage-my-backend'],
    ['ai', '@me/nodekeep-ai-paper_3', 'nodekeep-ai-paper_3', 'ai-paper-3'],
  ] as const) {
    t.strictSame(await makePlugin(kind, name, into), { folder, id })
    const made = join(into, folder)
    const manifest = JSON.parse(await read(made, 'package.json'))
    t.match(manifest, {
      name,
      nodekeep: { id, sdk: String },
      peerDependencies: { '@nodekeep/plugin-sdk': String },
    })
    t.notHas(manifest, { private: true }, 'its author may publish it')
    t.match(JSON.parse(await read(made, 'tsconfig.json')), { compilerOptions: { lib: ['es2024'] } })
    t.match(await read(made, 'src/index.ts'), `id: '${id}'`)
    const readme = await read(made, 'README.md')
    t.match(readme, new RegExp(`^# ${name}\n\n.*works as it is`))
    t.match(readme, `"${id}": { "from": "${name}" }`)
    t.match(readme, `\`${id.replace(`${kind}-`, '')}\``, 'the name of the provider or backend')
    t.match(readme, /^npm test$/m)
    t.notMatch(readme, /^## Copy it|marked `private`/m, 'a README says nothing about copies of the example')
    for (const entry of await readdir(made, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const text = await read(entry.parentPath, entry.name)
      t.notMatch(
        text,
        /nodekeep-(ai-acme|storage-sqlite)|ai-acme|storage-sqlite|aiAcme|["'`](acme|sqlite)["'`]/,
        entry.name,
      )
    }
  }
  t.notOk((await readdir(join(into, 'my-provider'))).includes('node_modules'))
})

test('an empty folder is used', async (t) => {
  const into = t.testdir({ mine: {} })
  await makePlugin('ai', 'mine', into)
  t.ok((await readdir(join(into, 'mine'))).includes('package.json'))
})

test('what cannot be made is refused before anything is written', async (t) => {
  const into = t.testdir({ full: { 'notes.txt': 'Mine.' }, file: '' })
  const refused = [
    ['page', 'mine', 'There is no kind "page". Choose ai or storage.'],
    ['ai', 'My Thing', /"My Thing" cannot be the name of a package: .*Choose a name such as my-ai\./],
    ['ai', '../outside', /cannot be the name of a package/],
    ['ai', 'fs', /fs is a core module name/],
    ['ai', 'nodekeep-', /it has no letter/],
    ['storage', 'full', 'The folder full is not empty. Choose another name, or empty it.'],
    ['storage', 'file', 'The folder file cannot be used (ENOTDIR). Choose another name.'],
  ] as const
  for (const [kind, name, message] of refused) await t.rejects(makePlugin(kind, name, into), { message })
  t.strictSame((await readdir(into, { recursive: true })).sort(), ['file', 'full', 'full/notes.txt'])
})
