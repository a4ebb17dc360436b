import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { test } from 'tap'
import { createTestNode } from '../../src/testing/create-test-node.ts'
import { commandFolder, isRefusal } from './fixtures/nodekeep.ts'

/** Adds a plugin with a secret to the folder. */
async function addPlugin(path: string): Promise<void> {
  await mkdir(join(path, 'greeter'))
  const sdk = import.meta.resolve('@nodekeep/plugin-sdk')
  await writeFile(
    join(path, 'greeter', 'package.json'),
    JSON.stringify({
      name: 'greeter',
      version: '1.2.3',
      type: 'module',
      exports: { '.': './index.ts', './package.json': './package.json' },
      nodekeep: { id: 'greeter', sdk: '^0.1.0', entry: './index.ts' },
    }),
  )
  await writeFile(
    join(path, 'greeter', 'index.ts'),
    `import { Checked, definePlugin, Secret, Type } from ${JSON.stringify(sdk)}
export default definePlugin({
  id: 'greeter',
  description: 'Greets.',
  config: Type.Object({
    key: Secret(),
    word: Type.String({ default: 'Hello' }),
    names: Type.Array(Checked((name) => (name === 'Eve' ? 'is nobody to greet. Name somebody else.' : null)), { default: [] }),
  }),
  setup() {},
})`,
  )
}

const greeter = { plugins: { greeter: { from: './greeter' } }, greeter: { key: 'very-secret-key' } }

test('config print shows every value with its origin, and no secret', async (t) => {
  const folder = await commandFolder(t, { ...greeter, server: { port: 4321 } })
  await addPlugin(folder.path)
  const { code, stdout, stderr } = await folder.run('config', 'print', '--host', '0.0.0.0')
  t.match({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, /"port": 4321,? \/\/ .*nodekeep\.json/)
  t.match(stdout, /"host": "0\.0\.0\.0",? \/\/ .*--host/)
  t.match(stdout, /"bodyLimit": 1048576,? \/\/ default/)
  t.match(stdout, /"word": "Hello"/)
  t.match(stdout, /"key": "\[secret\]"/)
  t.notMatch(stdout, 'very-secret-key')
})

test('a section that is no object is refused, though flags may belong to it', async (t) => {
  for (const key of ['log', 'server']) {
    const folder = await commandFolder(t, { [key]: 'debug' })
    const { code, stderr } = await folder.run('config', 'check')
    t.match(
      { code, stderr },
      { code: 1, stderr: `${key} (nodekeep.json:1) must be an object, but is a string` },
    )
  }
})

test('config print and config check also answer in JSON', async (t) => {
  const folder = await commandFolder(t, { ...greeter, server: { port: 4321 } })
  await addPlugin(folder.path)
  const printed = await folder.run('config', 'print', '--json')
  const { file, values, origins } = JSON.parse(printed.stdout)
  t.equal(file, join(folder.path, 'nodekeep.json'))
  t.match(values, { server: { port: 4321 }, greeter: { word: 'Hello', key: '[secret]' } })
  t.match(origins, { 'server.port': /nodekeep\.json:1$/, 'server.bodyLimit': 'default' })
  t.notMatch(printed.stdout, 'very-secret-key')
  const valid = await folder.run('config', 'check', '--json')
  t.match(JSON.parse(valid.stdout), { valid: true, problems: [], blocked: [] })

  await folder.configure({ ...greeter, server: { prot: 1 } })
  const { code, stdout, stderr } = await folder.run('config', 'check', '--json')
  t.match({ code, stderr }, { code: 1, stderr: '' })
  t.match(JSON.parse(stdout), { valid: false, problems: [/server\.prot .*Did you mean "port"\?/] })
})

test('config check --json tells which problems a start survives', async (t) => {
  const folder = await commandFolder(t, {
    plugins: { must: { from: './nowhere' }, may: { from: './nowhere-else', required: false } },
  })
  const { code, stdout } = await folder.run('config', 'check', '--json')
  t.equal(code, 1)
  const { problems, optional } = JSON.parse(stdout)
  t.match(problems, [/^"must" /, /^"may" /])
  t.same(optional, [problems[1]])
})

test('config check confirms a valid configuration and lists all mistakes of another', async (t) => {
  const folder = await commandFolder(t, greeter)
  await addPlugin(folder.path)
  t.match(await folder.run('config', 'check'), {
    code: 0,
    stdout: /is valid: 1 of 1 plugins enabled/,
    stderr: '',
  })

  const auth = { owner: '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed' }
  const wrong = { ...greeter, greeter: { wrod: 1 }, server: { prot: 1 }, sevrer: {}, auth }
  await writeFile(join(folder.path, 'wrong.json'), JSON.stringify(wrong))
  const { code, stdout, stderr } = await folder.run('config', 'check', '--config', 'wrong.json')
  t.match({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /server\.prot .*Did you mean "port"\?/)
  t.match(stderr, /auth\.owner \(wrong\.json:1\) .*checksum/)
  t.notMatch(stderr, /\n {4}at /)
})

test('config check and config print run the checks of plugins on texts, wherever these come from', async (t) => {
  const right = { ...greeter, greeter: { key: 'k', names: ['Ada'] } }
  const folder = await commandFolder(t, right)
  await addPlugin(folder.path)
  t.match(await folder.run('config', 'check'), { code: 0, stderr: '' })
  const printed = await folder.run('config', 'schema')
  t.match(JSON.parse(printed.stdout).properties.greeter.anyOf[0].properties.names, { anyOf: Array })
  await folder.configure({ ...greeter, greeter: { key: 'k', names: ['Ada', 'Eve'] } })
  const problem = 'greeter.names[1] (nodekeep.json:1) is nobody to greet. Name somebody else.'
  t.match(await folder.run('config', 'check'), { code: 1, stdout: '', stderr: `nodekeep: ${problem}\n` })
  t.match(await folder.run('start'), { code: 1, stderr: problem })
})

test('config check finds mistakes that only the loaded plugins reveal', async (t) => {
  const folder = await commandFolder(t, { ...greeter, services: { greeting: 'greeter' }, greter: {} })
  await addPlugin(folder.path)
  const { code, stdout, stderr } = await folder.run('config', 'check')
  t.match({ code, stdout }, { code: 1, stdout: '' })
  t.match(stderr, /services\.greeting \(nodekeep\.json:1\) is not a service that a plugin provides\./)
  t.match(stderr, /greter \(nodekeep\.json:1\) is not a known section\./)
})

/** Adds a plugin to the folder that declares services of the test. */
async function addServicePlugin(path: string, id: string, declaration: string): Promise<void> {
  await mkdir(join(path, id))
  const nodekeep = { id, sdk: '^0.1.0', entry: './index.ts' }
  const exports = { '.': './index.ts', './package.json': './package.json' }
  await writeFile(
    join(path, id, 'package.json'),
    JSON.stringify({ name: id, version: '1.0.0', type: 'module', exports, nodekeep }),
  )
  await writeFile(
    join(path, id, 'index.ts'),
    `import { definePlugin, defineService } from ${JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))}
const greeting = defineService('greeting', 1)
export default definePlugin({ id: '${id}', ${declaration}, setup() { return { greeting: {} } } })`,
  )
}

test('config check and plugins list find plugins that services block', async (t) => {
  const from = (...ids: string[]) => Object.fromEntries(ids.map((id) => [id, { from: `./${id}` }]))
  const folder = await commandFolder(t, { plugins: from('guest') })
  await addServicePlugin(folder.path, 'guest', 'requires: { greeting }')
  await addServicePlugin(folder.path, 'host', 'provides: { greeting }')
  await addServicePlugin(folder.path, 'rival', 'provides: { greeting }')
  const needs = '"guest" (nodekeep.json:1): It needs the service "greeting@1", which is not available.'
  t.match(await folder.run('config', 'check'), { code: 1, stdout: '', stderr: needs })
  t.match(await folder.run('plugins', 'list'), { code: 0, stdout: /^guest {2}blocked: It needs the service/ })

  await folder.configure({ plugins: from('guest', 'host', 'rival') })
  const two = await folder.run('config', 'check')
  t.match(two, {
    code: 1,
    stderr: '"host" (nodekeep.json:1): It provides the service "greeting@1", and so does "rival".',
  })
  t.match(two.stderr, '"guest" (nodekeep.json:1): It needs the service "greeting@1" of ')

  await folder.configure({ plugins: from('guest', 'host', 'rival'), services: { greeting: 'host' } })
  t.match(await folder.run('config', 'check'), {
    code: 0,
    stdout: /is valid: 3 of 3 plugins enabled\.\n$/,
  })
  await folder.configure({ plugins: { guest: { from: './guest', required: false } } })
  const optional = await folder.run('config', 'check')
  t.match(optional, {
    code: 0,
    stdout: /is valid[\s\S]*"guest" .* is blocked, and the node starts without it: /,
  })
})

test('config check names wrong keys of backups, and with --deep a target that is no storage', async (t) => {
  const plugins = { files: true, 'storage-memory': true, backup: { required: false } }
  const storage = { mounts: { '/': 'memory' } }
  const folder = await commandFolder(t, {
    plugins,
    storage,
    backup: { schedule: 'every night', recipients: ['me'] },
  })
  const plain = await folder.run('config', 'check')
  t.match(plain, { code: 1, stdout: '' })
  t.match(plain.stderr, /backup\.schedule \(nodekeep\.json:1\) is no cron expression/)
  t.match(plain.stderr, /backup\.recipients\[0\] \(nodekeep\.json:1\) is no recipient of age/)

  await folder.configure({ plugins, storage, backup: { targets: ['dsk'] } })
  t.match(await folder.run('config', 'check'), { code: 0 }, 'only a start knows the storages')
  t.match(await folder.run('config', 'check', '--deep'), {
    code: 1,
    stdout: '',
    stderr:
      /^nodekeep: "backup" \(nodekeep\.json:1\) is failed: backup\.targets\[0\] names the storage "dsk", which no plugin provides\. Loaded storages: memory\. [^\n]+\n$/,
  })
})

test('config check --deep finds what only a start reveals, and leaves nothing behind', async (t) => {
  const plugins = { files: true, 'storage-memory': true }
  const folder = await commandFolder(t, {
    plugins,
    storage: { mounts: { '/': 'memory', '/more': 'nowhere' } },
  })
  t.match(await folder.run('config', 'check'), { code: 0, stdout: /is valid/ })
  const deep = await folder.run('config', 'check', '--deep')
  t.match(deep, {
    code: 0,
    stdout: /A trial start succeeded\.\nWarning: No plugin provides the storage backend "nowhere"/,
  })
  t.notOk(existsSync(folder.data))

  await folder.configure({
    plugins: { ...plugins, second: { from: 'storage-memory' }, third: { from: './third' } },
  })
  const third = join(folder.path, 'third')
  await mkdir(third)
  const nodekeep = { id: 'third', sdk: '*', entry: './index.js' }
  await writeFile(join(third, 'package.json'), JSON.stringify({ name: 'third', type: 'module', nodekeep }))
  const sdk = JSON.stringify(import.meta.resolve('@nodekeep/plugin-sdk'))
  const broken = `import { definePlugin } from ${sdk}
export default definePlugin({ id: 'third', setup() { throw new Error('no disk') } })`
  await writeFile(join(third, 'index.js'), broken)
  t.match(await folder.run('config', 'check'), { code: 0 })
  t.match(await folder.run('config', 'check', '--deep'), {
    code: 1,
    stderr: /"third" .*failed \(setup\): no disk/,
  })
})

test('config check --deep leaves the folders of storages alone, also while a node uses them', async (t) => {
  const folder = await commandFolder(t)
  const root = join(folder.path, 'disk')
  const plugins = { files: true, 'storage-local': true }
  await folder.configure({ plugins, 'storage-local': { root } })
  t.match(await folder.run('config', 'check', '--deep'), { code: 0, stdout: /A trial start succeeded/ })
  t.notOk(existsSync(root))

  const node = await createTestNode({ config: { plugins, 'storage-local': { root } } })
  t.teardown(() => node.stop())
  t.match(await folder.run('config', 'check', '--deep'), { code: 0, stdout: /A trial start succeeded/ })

  await folder.configure({
    plugins: { ...plugins, second: { from: 'storage-local' } },
    'storage-local': { root },
    second: { root },
  })
  t.match(await folder.run('config', 'check', '--deep'), { code: 1, stderr: /Two storages cannot share/ })
})

test('config schema is a JSON Schema that accepts a valid file and finds mistakes', async (t) => {
  const folder = await commandFolder(t, greeter)
  await addPlugin(folder.path)
  const { code, stdout } = await folder.run('config', 'schema')
  t.equal(code, 0)
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const validate = ajv.compile(JSON.parse(stdout))
  t.ok(validate(JSON.parse(await readFile(join(folder.path, 'nodekeep.json'), 'utf8'))))
  t.notOk(validate({ server: { prot: 1 } }))
  t.notOk(validate({ greeter: { key: 'a', wrod: 1 } }))
})

test('plugins list shows the plugins as text and as JSON', async (t) => {
  const folder = await commandFolder(t, greeter)
  await addPlugin(folder.path)
  const list = await folder.run('plugins', 'list')
  t.match(list, {
    code: 0,
    stderr: '',
    stdout: /^greeter {2}ready to start\n {2}Greets\.\n {2}package +greeter 1\.2\.3, SDK \^0\.1\.0\n/,
  })
  const [plugin] = JSON.parse((await folder.run('plugins', 'list', '--json')).stdout)
  t.match(plugin, { id: 'greeter', version: '1.2.3', required: true, configuredAt: /nodekeep\.json:1/ })

  await folder.configure({})
  t.match(await folder.run('plugins', 'list'), { code: 0, stdout: 'The configuration names no plugins.\n' })
  await folder.configure({ plugins: { nowhere: true } })
  const missing = await folder.run('plugins', 'list')
  t.match(missing, { code: 1, stdout: /^nowhere {2}failed: / }, 'a script notices it')
})

test("the node's own copy of a first-party plugin wins over a package beside the file, unless the file names the package", async (t) => {
  const folder = await commandFolder(t)
  const beside = join(folder.path, 'node_modules/@nodekeep/storage-memory')
  await mkdir(beside, { recursive: true })
  const nodekeep = { id: 'storage-memory', sdk: '*', entry: './index.js' }
  const manifest = { name: '@nodekeep/storage-memory', version: '99.0.0', type: 'module', nodekeep }
  await writeFile(join(beside, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(beside, 'index.js'), 'export default {}')
  const versions = async (entry: unknown) => {
    await folder.configure({ plugins: { 'storage-memory': entry } })
    const { stdout } = await folder.run('plugins', 'list', '--json')
    return JSON.parse(stdout).map(({ version }: { version: string }) => version)
  }
  t.notMatch(await versions(true), ['99.0.0'])
  t.match(await versions({ from: '@nodekeep/storage-memory' }), ['99.0.0'])
})

test('an error about a missing or broken file names it', async (t) => {
  const folder = await commandFolder(t)
  await writeFile(join(folder.path, 'broken.json'), '{\n  "server": {\n')
  await writeFile(join(folder.path, 'circle.json'), '{ "extends": "./circle.json" }')
  for (const [file, expected] of [
    ['missing.json', /missing\.json does not exist/],
    ['broken.json', /broken\.json:\d+ is not valid JSON/],
    ['circle.json', /circle\.json/],
  ] as const) {
    const outcome = await folder.run('config', 'print', '--config', file)
    t.ok(isRefusal(outcome), `${file}: one line, code 1`)
    t.match(outcome.stderr, expected)
  }
})
