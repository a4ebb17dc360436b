import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { checkApiReport, writeApiReport } from './api-report.ts'
import { json, notes, sampleRepository, withClient } from './fixtures/sample-repository.ts'
import { checkWalls } from './walls.ts'

/** Checks that these changes to a sound repository are found, and nothing else. */
function bites(t: Test, changes: Record<string, string>, breach: RegExp) {
  const breaches = checkWalls(sampleRepository(t, changes))
  t.equal(breaches.length, 1, breaches.join('\n'))
  t.match(breaches[0], breach)
}

test('a sound repository passes', async (t) => {
  t.strictSame(checkWalls(sampleRepository(t)), [])
})

test('a plugin imports neither the kernel nor another plugin', async (t) => {
  const source = 'plugins/notes/src/extra.ts'
  bites(
    t,
    { [source]: "import type { one } from '@nodekeep/kernel'\n" },
    /extra\.ts: "@nodekeep\/kernel" is out/,
  )
  bites(
    t,
    { [source]: "await import('@nodekeep/kernel/testing')\nexport {}\n" },
    /kernel\/testing" is out of bounds/,
  )
  bites(t, { [source]: "import '../../../kernel/src/index.ts'\n" }, /reaches into another package/)
  bites(
    t,
    {
      'plugins/other/package.json': json(
        notes({ name: '@nodekeep/other', nodekeep: { id: 'other', sdk: '1', entry: '.' } }),
      ),
      'plugins/other/README.md': '# Other\n\nDoes something else.\n',
      'README.md': 'The plugins `notes` and `other` work.\n',
      'CHANGELOG.md': '- Notes (`notes`), and others (`other`).\n',
      'config/README.md': 'The plugin `other` is off by default.\n',
      'plugins/other/src/index.ts': "import '@nodekeep/notes'\n",
      'plugins/other/test/other.test.ts': '',
    },
    /"@nodekeep\/notes" is out of bounds: a source of the plugin plugins\/other/,
  )
})

test("a plugin's tests get the kernel only by its testing entry", async (t) => {
  bites(
    t,
    { 'plugins/notes/test/extra.ts': "import '@nodekeep/kernel'\n" },
    /a test of the plugin plugins\/notes/,
  )
})

test('the kernel imports no plugin, the SDK nothing of the repository', async (t) => {
  bites(t, { 'kernel/src/extra.ts': "import '@nodekeep/notes'\n" }, /a source of the kernel must not/)
  bites(
    t,
    { 'plugin-sdk/src/extra.ts': "export * from '@nodekeep/kernel'\n" },
    /a source of the SDK must not/,
  )
})

test('a supervisor knows no node, and the node may read what it stores', async (t) => {
  const program = 'plugins/notes/src/supervisor/program.ts'
  const entry = (name: string) => ({
    'nodekeep-source': `./src/${name}.ts`,
    types: `./dist/${name}.d.ts`,
    default: `./dist/${name}.js`,
  })
  const withSupervisor = {
    'plugin-sdk/package.json': json({
      name: '@nodekeep/plugin-sdk',
      version: '1.0.0',
      exports: { '.': entry('index'), './lock': entry('lock'), './http': entry('http') },
      dependencies: { fastify: '1.0.0' },
    }),
    'plugin-sdk/src/lock.ts': "export type * from './locks/lock.ts'\n",
    'plugin-sdk/src/locks/lock.ts': "import 'node:fs'\nexport type {}\n",
    'plugin-sdk/src/http.ts': "export type * from './locks/http.ts'\n",
    'plugin-sdk/src/locks/http.ts': "import 'fastify'\nexport type {}\n",
    'plugins/notes/src/extra.ts': '',
    'plugins/notes/src/supervisor/state.ts': '',
    'plugins/notes/src/index.ts':
      "import type { Thing } from '@nodekeep/plugin-sdk'\nimport './supervisor/state.ts'\n",
    [program]: "import 'node:fs'\nimport '@nodekeep/plugin-sdk/lock'\nimport './state.ts'\n",
  }
  t.strictSame(checkWalls(sampleRepository(t, withSupervisor)), [])
  for (const [source, breach] of [
    ["import '../extra.ts'\n", /another side \(supervisor imports node\)/],
    ["import '@nodekeep/plugin-sdk'\n", /"@nodekeep\/plugin-sdk" is out of bounds/],
    [
      "import '@nodekeep/plugin-sdk/http'\n",
      /plugin-sdk\/http" is out of bounds: a source of the supervisor side/,
    ],
  ] as const) {
    bites(t, { ...withSupervisor, [program]: source }, breach)
  }
})

test('a client is no plugin, and imports of plugins what they made for clients', async (t) => {
  const declared = { dependencies: { '@nodekeep/notes': '1.0.0' } }
  const client = {
    'package.json': json({
      name: 'sample',
      private: true,
      workspaces: ['plugin-sdk', 'kernel', 'plugins/*', 'examples/*'],
      devDependencies: { tap: '1.0.0' },
    }),
    'examples/caller/package.json': json({ name: 'caller', private: true, ...declared }),
    'examples/caller/README.md': '',
    'examples/caller/test/caller.test.ts': "import 'tap'\n",
    'examples/caller/caller.ts': "import '@nodekeep/notes/client'\n",
    'tsconfig.json': json({
      compilerOptions: { module: 'nodenext', allowImportingTsExtensions: true, noEmit: true, types: [] },
      include: ['plugin-sdk', 'kernel', 'plugins', 'examples', 'test'],
    }),
  }
  t.strictSame(checkWalls(sampleRepository(t, client)), [])
  const caller = 'examples/caller/caller.ts'
  bites(
    t,
    { ...client, [caller]: "import '@nodekeep/notes'\n" },
    /a source of the client examples\/caller must not/,
  )
})

test('code for clients and browsers shares only its protocol with the code of the node', async (t) => {
  t.strictSame(checkWalls(sampleRepository(t, withClient)), [])
  const breaches: readonly [file: string, content: string, breach: RegExp][] = [
    ['client/extra.ts', "import '../index.ts'\n", /\(client imports node\)/],
    ['client/extra.ts', "import type {} from '../server.ts'\n", /\(client imports node\)/],
    ['browser/extra.ts', "import '../client/index.ts'\n", /\(browser imports client\)/],
    ['protocol/extra.ts', "import '../server.ts'\n", /\(protocol imports node\)/],
    ['extra.ts', "import './client/index.ts'\n", /\(node imports client\)/],
    ['extra.ts', "import './browser/page.ts'\n", /\(node imports browser\)/],
    ['client/extra.ts', "import '@nodekeep/plugin-sdk'\n", /the client side of plugins\/notes must not/],
    ['client/extra.ts', "import '@nodekeep/kernel/testing'\n", /the client side of plugins\/notes must not/],
    ['client/extra.ts', "import '@nodekeep/notes'\n", /the client side of plugins\/notes must not/],
    [
      'protocol/extra.ts',
      "import '@nodekeep/notes/client'\n",
      /the protocol side of plugins\/notes must not/,
    ],
    ['browser/extra.ts', "import 'node:fs'\n", /"node:fs" is not there in a browser/],
    ['protocol/extra.ts', "import 'node:fs'\n", /"node:fs" is not there in a browser/],
  ]
  const others = { 'plugins/notes/src/server.ts': '', 'plugins/notes/src/client/index.ts': '' }
  for (const [file, content, breach] of breaches) {
    bites(t, { ...withClient, ...others, [`plugins/notes/src/${file}`]: content }, breach)
  }
})

test('nobody installs another plugin for code that a bundle contains', async (t) => {
  const client = {
    'nodekeep-source': './src/browser/page.ts',
    types: './dist/browser/page.d.ts',
    default: './dist/browser/page.js',
  }
  const own = { 'nodekeep-source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' }
  const sign = {
    name: '@nodekeep/sign',
    exports: { '.': own, './client': client },
    nodekeep: { id: 'sign', sdk: '^1.0.0', entry: '.' },
  }
  const withPage = (side: string, manifest: object) => ({
    ...withClient,
    'plugins/sign/package.json': json(notes(sign)),
    'plugins/sign/README.md': '# Sign\n\nSigns.\n',
    'plugins/sign/src/index.ts': '',
    'plugins/sign/src/browser/page.ts': '',
    'plugins/sign/test/sign.test.ts': '',
    'README.md': 'The plugins `notes` and `sign` work.\n',
    'CHANGELOG.md': '- Notes (`notes`), and signatures (`sign`).\n',
    'config/README.md': 'The plugin `sign` is off by default.\n',
    'plugins/notes/package.json': json(notes(manifest)),
    [`plugins/notes/src/${side}/extra.ts`]: "import '@nodekeep/sign/client'\n",
  })
  const needed = { dependencies: { '@nodekeep/sign': '1.0.0' } }
  const toBuild = { devDependencies: { '@nodekeep/kernel': '1.0.0', '@nodekeep/sign': '1.0.0' } }
  t.strictSame(checkWalls(sampleRepository(t, withPage('browser', toBuild))), [])
  bites(
    t,
    withPage('browser', needed),
    /^plugins\/notes\/package\.json: make "@nodekeep\/sign" a development dependency/,
  )
  t.strictSame(
    checkWalls(sampleRepository(t, withPage('client', needed))),
    [],
    'a program of the package loads it',
  )
  bites(t, withPage('client', toBuild), /"@nodekeep\/sign" is not declared/)
})

test('clients may import entries of the SDK that need nothing but Node', async (t) => {
  const entry = {
    'nodekeep-source': './src/files.ts',
    types: './dist/files.d.ts',
    default: './dist/files.js',
  }
  const sdk = JSON.parse(withClient['plugin-sdk/package.json'] as string)
  const withEntry = (content: string) => ({
    ...withClient,
    'plugin-sdk/package.json': json({ ...sdk, exports: { ...sdk.exports, './files': entry } }),
    'plugin-sdk/src/files.ts': content,
    'plugins/notes/src/client/extra.ts': "import '@nodekeep/plugin-sdk/files'\n",
  })
  t.strictSame(checkWalls(sampleRepository(t, withEntry("import 'node:fs'\n"))), [])
  bites(t, withEntry("import 'node:fs'\nimport './index.ts'\n"), /the client side of plugins\/notes must not/)
  bites(
    t,
    {
      ...withEntry("import 'node:fs'\n"),
      'plugins/notes/src/client/extra.ts': '',
      'plugins/notes/src/browser/extra.ts': "import '@nodekeep/plugin-sdk/files'\n",
    },
    /the browser side of plugins\/notes must not/,
  )
})

test('browser code reaches no types of Node', async (t) => {
  const library = (name: string, content: string) => ({
    [`node_modules/${name}/package.json`]: json({ name, version: '1.0.0', types: 'index.d.ts' }),
    [`node_modules/${name}/index.d.ts`]: content,
  })
  bites(
    t,
    {
      ...withClient,
      ...library('@types/node', 'declare const process: object\n'),
      ...library('quiet', '/// <reference types="node" />\nexport {}\n'),
      'plugins/notes/package.json': json(notes({ dependencies: { quiet: '1.0.0' } })),
      'plugins/notes/src/browser/extra.ts': "import 'quiet'\n",
    },
    /tsconfig\.browser\.json: browser code imports Node's types/,
  )
})

test('the entry for clients, and no other, leads to code for clients', async (t) => {
  const manifest = 'plugins/notes/package.json'
  const entry = (path: string, name: string) => {
    const [types, code] = [`./dist/${name}.d.ts`, `./dist/${name}.js`]
    return notes({ exports: { [path]: { 'nodekeep-source': `./src/${name}.ts`, types, default: code } } })
  }
  bites(t, { [manifest]: json(entry('./client', 'index')) }, /exports\["\.\/client"\], and no other entry/)
  bites(
    t,
    { ...withClient, [manifest]: json(entry('./page', 'browser/page')) },
    /unlike exports\["\.\/page"\]/,
  )
})

test('commands of a package can be installed', async (t) => {
  const command = {
    'plugins/notes/package.json': json(notes({ bin: { notes: './bin/notes.js' }, files: ['bin'] })),
    'plugins/notes/bin/notes.js': '#!/usr/bin/env node\n',
  }
  const breachesOf = (changes: Record<string, string>, mode: number) => {
    const root = sampleRepository(t, { ...command, ...changes })
    chmodSync(join(root, 'plugins/notes/bin/notes.js'), mode)
    return checkWalls(root)
  }
  t.strictSame(breachesOf({}, 0o755), [])
  t.match(breachesOf({}, 0o644), [/bin\["notes"\] must be executable/])
  t.match(breachesOf({ 'plugins/notes/bin/notes.js': '' }, 0o755), [/must begin with #!/])
  const bin = { notes: './bin/notes.js' }
  t.match(breachesOf({ 'plugins/notes/package.json': json(notes({ bin })) }, 0o755), [/"files" lacks "bin"/])
  bites(t, { 'plugins/notes/package.json': json(notes({ bin, files: ['bin'] })) }, /leads to no file/)
})

test('every plugin is documented, listed, and in a preset or off by default', async (t) => {
  bites(t, { 'plugins/notes/README.md': '# Notes\n\n| Key |\n' }, /notes\/README\.md: begin with a heading/)
  bites(t, { 'README.md': '' }, /^README\.md: name the plugin `notes`/)
  bites(t, { 'CHANGELOG.md': '' }, /^CHANGELOG\.md: name the plugin `notes`/)
  bites(t, { 'config/default.json': json({ plugins: { notes: false } }) }, /put `notes` into a preset/)
})

test('every export is imported by another file', async (t) => {
  const extra = (content: string) => ({ 'kernel/src/extra.ts': content })
  bites(t, extra('export const lonely = 1\n'), /extra\.ts: no other file imports "lonely"/)
  bites(t, extra('export interface Lonely { readonly a: string }\n'), /no other file imports "Lonely"/)
  const importing = (content: string) => ({
    ...extra('export const one = 1\nexport interface Two { readonly a: string }\n'),
    'kernel/src/importing.ts': content,
  })
  bites(t, importing("import { one } from './extra.ts'\n"), /no other file imports "Two"/)
  for (const content of [
    "import { one as two, type Two } from './extra.ts'\n",
    "import * as everything from './extra.ts'\n",
    "await import('./extra.ts')\nexport {}\n",
  ]) {
    t.strictSame(checkWalls(sampleRepository(t, importing(content))), [], content)
  }
})

test('files do not import each other in a circle, also not for types', async (t) => {
  bites(
    t,
    {
      'kernel/src/one.ts': "import type { Two } from './two.ts'\nexport type One = Two\n",
      'kernel/src/two.ts': "import type { One } from './one.ts'\nexport type Two = One\n",
    },
    /kernel: a circle of imports: kernel\/src\/one\.ts -> kernel\/src\/two\.ts -> kernel\/src\/one\.ts/,
  )
})

test('folders of a package do not import each other in a circle', async (t) => {
  bites(
    t,
    {
      'kernel/src/http/server.ts': "import '../users/table.ts'\n",
      'kernel/src/http/errors/table.ts': '',
      'kernel/src/users/table.ts': '',
      'kernel/src/users/routes.ts': "import '../http/errors/table.ts'\n",
    },
    /kernel: a circle of imports: kernel\/src\/http\/ -> kernel\/src\/users\/ -> kernel\/src\/http\/$/,
  )
})

test('libraries are declared where they are imported', async (t) => {
  bites(
    t,
    { 'plugins/notes/src/extra.ts': "import 'fastify/types'\n" },
    /"fastify" is not declared in plugins\/notes/,
  )
  bites(t, { 'plugins/notes/src/extra.ts': "import 'tap'\n" }, /"tap" is not declared/)
  bites(t, { 'test/extra.ts': "import 'fastify'\n" }, /"fastify" is not declared in package\.json/)
  bites(t, { 'kernel/src/extra.ts': "import '#inner'\n" }, /"#inner" is not among the imports/)
  bites(t, { 'kernel/src/extra.ts': "import 'fs'\n" }, /write "node:fs"/)
})

test('the tests of the whole reach packages by their names', async (t) => {
  bites(
    t,
    { 'test/extra.ts': "import '../kernel/src/index.ts'\n" },
    /test\/extra\.ts: .* reaches into another package/,
  )
})

test('plugin packages are complete', async (t) => {
  const manifest = 'plugins/notes/package.json'
  bites(t, { [manifest]: json(notes({ nodekeep: { sdk: '1' } })) }, /say nodekeep\.id and nodekeep\.entry/)
  bites(t, { [manifest]: json(notes({ nodekeep: { id: 'a', sdk: '1', entry: '.' } })) }, /not plugins\/a/)
  bites(
    t,
    { [manifest]: json(notes({ nodekeep: { id: 'notes', entry: '.' } })) },
    /which versions of the SDK/,
  )
  bites(t, { [manifest]: json(notes({ exports: { '.': './dist/index.js' } })) }, /exports\["\."\] must have/)
  const sdk = { '@nodekeep/plugin-sdk': '1' }
  bites(t, { [manifest]: json(notes({ dependencies: sdk })) }, /must not be a dependency of its own/)

  const root = sampleRepository(t)
  rmSync(join(root, 'plugins/notes/README.md'))
  t.match(checkWalls(root), [
    'plugins/notes/package.json: README.md is missing beside it',
    /README\.md: begin/,
  ])
})

test('nothing runs at install, and no registry is named', async (t) => {
  const lock = (entry: object) => ({ 'package-lock.json': json({ packages: { 'node_modules/x': entry } }) })
  bites(t, lock({ hasInstallScript: true }), /node_modules\/x runs a script/)
  bites(t, lock({ resolved: 'https://registry.test/x.tgz' }), /names a registry/)
  bites(t, { ...lock({}), 'node_modules/x/binding.gyp': '{}' }, /node_modules\/x is compiled/)
})

test('every export of the SDK is documented where it is declared', async (t) => {
  bites(
    t,
    { 'plugin-sdk/src/thing.ts': '// A thing.\nexport interface Thing { readonly name: string }\n' },
    /plugin-sdk\/src\/thing\.ts: "Thing", which plugin-sdk\/src\/index\.ts exports/,
  )
})

test('everything at the root of the SDK has a consumer', async (t) => {
  const withExport = (content: string, changes: Record<string, string> = {}) => ({
    'plugin-sdk/src/index.ts': `export type { Thing } from './thing.ts'\nexport * from './extra.ts'\n`,
    'plugin-sdk/src/extra.ts': content,
    ...changes,
  })
  const helper = '/** Helps. */\nexport const help = () => 1\n'
  bites(t, withExport(helper), /index\.ts: no plugin, example or document uses "help"/)
  bites(
    t,
    withExport(helper, {
      'kernel/src/extra.ts': "import { help } from '@nodekeep/plugin-sdk'\nhelp()\n",
      'plugins/notes/test/extra.ts': "import { help } from '@nodekeep/plugin-sdk'\nhelp()\n",
    }),
    /no plugin, example or document uses "help"/,
  )
  const import_ = (names: string) => `import { ${names} } from '@nodekeep/plugin-sdk'\n`
  const used = { 'plugins/notes/src/extra.ts': import_('help') }
  t.strictSame(checkWalls(sampleRepository(t, withExport(helper, used))), [])
  const document = { 'plugin-sdk/README.md': '# SDK\n\n```ts\nhelp()\n```\n' }
  t.strictSame(checkWalls(sampleRepository(t, withExport(helper, document))), [])

  const types = `/** Options. */
export interface Options { readonly size: Size }
/** A size. */
export type Size = number
/** Helps. */
export const help = (_: Options) => { const other: Other = 1; return other }
/** Another type. */
export type Other = number
`
  bites(t, withExport(types, used), /uses "Other"/)

  const token = `const defineService = () => 1
/** Keeps notes. */
export const Keeper = defineService()
`
  const provider = { 'plugins/notes/src/extra.ts': import_('Keeper') }
  bites(t, withExport(token, provider), /only one package uses the token "Keeper"/)
  const wallet = {
    ...withClient,
    'plugin-sdk/src/wallet.ts': '/** Helps. */\nexport const help = () => 1\n',
  }
  bites(t, wallet, /wallet\.ts: no plugin, example or document uses "help"/)
  t.strictSame(
    checkWalls(
      sampleRepository(t, withExport(token, { ...provider, 'kernel/src/extra.ts': import_('Keeper') })),
    ),
    [],
  )
})

test('the committed report is that of the declarations of the SDK', async (t) => {
  const source = (comment: string, name: string) =>
    `/** ${comment} */\nexport interface Thing { readonly name: Name }\ntype Name = ${name}\n`
  const root = sampleRepository(t, { 'plugin-sdk/src/thing.ts': source('A thing.', 'string') })
  await writeApiReport(root)
  writeFileSync(join(root, 'plugin-sdk/src/thing.ts'), source('Another comment.', 'string'))
  t.strictSame(await checkApiReport(root), [], 'comments are not in it')
  writeFileSync(join(root, 'plugin-sdk/src/thing.ts'), source('A thing.', 'number'))
  const breach = [/^plugin-sdk\/api-report\.md: .* write it with "npm run api-report"$/]
  t.match(await checkApiReport(root), breach, 'types that an export names are in it')
})

test('files are named after what is in them', async (t) => {
  bites(t, { 'kernel/src/string-utils.ts': '' }, /string-utils\.ts: name it after/)
  bites(t, { 'kernel/src/camelCase.ts': '' }, /camelCase\.ts: name it in lower-case/)
})

test('comments begin with their subject', async (t) => {
  const source = 'kernel/src/comments.ts'
  bites(t, { [source]: '/** What the node does. */\n' }, /comments\.ts:1: .* not with "What"/)
  bites(t, { [source]: '\n/**\n * The same for users.\n */\n' }, /comments\.ts:3: .* not with "The same"/)
  bites(t, { [source]: 'await null\n  // So many bytes are read.\nexport {}\n' }, /:2: .* not with "So many"/)
  const sound = [
    '// The start waits for everything.',
    '// That takes a second.',
    '/** Whatever. Who knows? */',
  ]
  t.strictSame(checkWalls(sampleRepository(t, { [source]: sound.join('\n') })), [])
})

test('no text names a package of ours that is not published', async (t) => {
  // The rule holds for this file too.
  const [npm, npx, pnpm, yarn, bun] = ['npm', 'npx', 'pnpm', 'yarn', 'bun']
  const commands = [
    `${npx} nodekeep-notes --all`,
    `${npx} -p left-pad --package=nodekeep nodekeep`,
    `${npm} install --global @nodekeep/notes`,
    `${npm} i left-pad nodekeep`,
    `${npm} exec -- @nodekeep/notes`,
    `${npm} create nodekeep`,
    `${pnpm} add nodekeep`,
    `${pnpm} dlx nodekeep-notes`,
    `${yarn} add @nodekeep/notes`,
    `${yarn} dlx nodekeep-notes --all`,
    `${yarn} global add nodekeep`,
    `${bun}x nodekeep-notes`,
    `${bun} add --global nodekeep`,
  ]
  const breaches = checkWalls(sampleRepository(t, { 'kernel/README.md': commands.join('\n') }))
  t.strictSame(
    breaches.map((breach) => /^kernel\/README\.md: "(.*)" names a package that is not/.exec(breach)?.[1]),
    commands,
  )
  bites(
    t,
    { 'plugins/notes/src/extra.ts': `// '${npx} nodekeep-notes'\n` },
    /extra\.ts: .* names a package that is not/,
  )
  const others = [
    'npx -p wabt wat2wasm',
    'npm install ./dist/nodekeep-*.tgz ../a/nodekeep-1.0.0.tgz',
    'npm ci',
  ]
  t.strictSame(checkWalls(sampleRepository(t, { 'kernel/README.md': others.join('\n') })), [])
})

test('no document offers a real wallet as the owner', async (t) => {
  const wallet = '0x52908400098527886E0F7030069857D2E4169EE7'
  bites(
    t,
    { 'README.md': `The plugin \`notes\`: nodekeep session create --wallet ${wallet}\n` },
    /README\.md: .*write a placeholder/,
  )
  bites(t, { 'config/README.md': `"owner": "${wallet}"\n` }, /config\/README\.md: .*write a placeholder/)
})

test('documents name files and folders that are there', async (t) => {
  const sound = [
    '[The plugin](../plugins/notes/README.md#limits), `plugins/notes/src/index.ts`, `src/index.ts`, `index.ts`',
    '`plugins/notes/journal.sqlite` of the data folder, `GET /src/gone`, [a page](https://example.org/gone)',
  ]
  t.strictSame(checkWalls(sampleRepository(t, { 'kernel/README.md': sound.join('\n') })), [])
  const gone = [
    '[The plugin](../plugins/gone/README.md#limits), `plugins/notes/src/gone`, `plugins/gone`, `src/gone.ts`',
    'The unit is in `unit.ts`.',
  ]
  t.strictSame(
    checkWalls(sampleRepository(t, { 'kernel/README.md': gone.join('\n') })),
    ['../plugins/gone/README.md', 'plugins/notes/src/gone', 'plugins/gone', 'src/gone.ts', 'unit.ts'].map(
      (name) => `kernel/README.md: there is no "${name}"`,
    ),
  )
})

test('each threat in SECURITY.md names a test that is there', async (t) => {
  const file = 'plugins/notes/test/notes.test.ts'
  const source = "import { test } from 'tap'\ntest('a note of another user is not found', () => {})\n"
  const threat = (tests: string) => ({
    [file]: source,
    'SECURITY.md': `## Threats and protections\n\n| Threat | Protection | Tests |\n|---|---|---|\n| A user | Notes are private. | ${tests} |\n`,
  })
  t.strictSame(checkWalls(sampleRepository(t, threat(`[a note of another user is not found](${file})`))), [])
  bites(t, threat(''), /name a test that holds the row "A user"/)
  bites(t, threat(`[a note of nobody](${file})`), /there is no test "a note of nobody" in plugins\/notes/)
  const gone = checkWalls(
    sampleRepository(t, threat('[a note of another user](plugins/notes/test/gone.test.ts)')),
  )
  t.match(gone[0], /in plugins\/notes\/test\/gone/)
})
