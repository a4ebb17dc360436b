import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FilePath, type Static, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { load, problemsOf } from './sources.ts'

test('the defaults apply without a file', async (t) => {
  const folder = t.testdir()
  const { kernel, plugins, file, folder: base } = await load(folder, {})
  t.match(kernel.server, { host: '127.0.0.1', port: 4200, trustedProxies: [], cors: { origins: [] } })
  t.equal(kernel.data, join(folder, 'data'), 'the default data folder is below the working directory')
  t.equal(kernel.auth.admission, 'owner')
  t.strictSame(plugins, [])
  t.equal(file, null)
  t.equal(base, folder)
})

test('a file may have comments, trailing commas, $schema and a byte order mark', async (t) => {
  const text = '\uFEFF// a node\n{ "$schema": "./schema.json", "server": { "port": 1, /* one */ }, }\n'
  const configuration = await load(t.testdir(), { files: { 'node.json': text } })
  t.equal(configuration.kernel.server.port, 1)
  configuration.refuseUnknownSections([])
})

test('the file overrides its presets, and later presets override earlier ones', async (t) => {
  const port = (value: number, rest = '') => `{ ${rest} "server": { "port": ${value} } }`
  const { kernel } = await load(t.testdir(), {
    files: {
      'node.json': '{ "extends": ["./a.json", "presets/b.json"], "log": { "level": "warn" } }',
      'a.json': port(1, '"session": { "expiryDays": 7 }, "log": { "level": "debug" },'),
      'presets/b.json': '{ "extends": "../c.json", "server": { "host": "::1" } }',
      'c.json': port(3, '"session": { "idleDays": 5 },'),
    },
  })
  t.equal(kernel.server.port, 3)
  t.equal(kernel.server.host, '::1')
  t.match(kernel.session, { expiryDays: 7, idleDays: 5 })
  t.equal(kernel.log.level, 'warn')
})

test('a preset that is reached twice counts once, at its first position', async (t) => {
  const { kernel } = await load(t.testdir(), {
    files: {
      'node.json': '{ "extends": ["a.json", "b.json"] }',
      'a.json': '{ "extends": "base.json", "server": { "port": 1 } }',
      'b.json': '{ "extends": "base.json" }',
      'base.json': '{ "server": { "port": 9 } }',
    },
  })
  t.equal(kernel.server.port, 1)
})

test('a preset of the node is extended by its name', async (t) => {
  const ids = async (folder: string, extending: string) => {
    const { plugins } = await load(folder, { files: { 'node.json': `{ "extends": "${extending}" }` } })
    return plugins.map(({ id }) => id)
  }
  t.strictSame(await ids(t.testdir(), 'nodekeep:minimal'), ['login-siwe', 'files', 'storage-local'])
  t.match(await ids(t.testdir(), 'nodekeep:default'), /wasm-native/)
})

test('null removes what an earlier layer sets', async (t) => {
  const configuration = await load(t.testdir(), {
    files: {
      'node.json':
        '{ "extends": "a.json", "plugins": { "ai": null }, "server": { "port": null }, "ai": null }',
      'a.json': '{ "plugins": { "ai": true, "wasm": true }, "server": { "port": 1 }, "ai": { "limit": 1 } }',
    },
  })
  t.strictSame(
    configuration.plugins.map(({ id }) => id),
    ['wasm'],
  )
  t.equal(configuration.kernel.server.port, 4200, 'the default applies')
  configuration.refuseUnknownSections([])
})

test('null removes a plugin of a preset together with its section', async (t) => {
  const preset = '{ "plugins": { "ai": true, "wasm": true, "server": true }, "ai": { "limit": 1 } }'
  const removed = (rest: string) =>
    load(t.testdir(), {
      files: {
        'node.json': `{ "extends": "a.json", "plugins": { "ai": null, "server": null }, "server": { "port": 1 }${rest} }`,
        'a.json': preset,
      },
    })
  const configuration = await removed('')
  t.strictSame(
    configuration.plugins.map(({ id }) => id),
    ['wasm'],
  )
  t.equal(configuration.kernel.server.port, 1, 'a section of the kernel stays')
  configuration.refuseUnknownSections([])
  const contradiction = await removed(', "ai": { "limit": 2 }')
  t.match(await problemsOf(() => contradiction.refuseUnknownSections([])), [
    /^ai \(node\.json:1\) is not a known/,
  ])
  const ids = async (plugins: string) => {
    const files = { 'node.json': `{ "extends": "nodekeep:default", "plugins": { ${plugins} } }` }
    const without = await load(t.testdir(), { files })
    without.refuseUnknownSections([])
    return without.plugins.map(({ id }) => id)
  }
  for (const id of await ids('')) t.notOk((await ids(`"${id}": null`)).includes(id), id)
})

test('a relative data folder is relative to the file that sets it', async (t) => {
  const folder = t.testdir()
  const files = { 'node.json': '{ "extends": "sub/a.json" }', 'sub/a.json': '{ "data": "./mine" }' }
  t.equal((await load(folder, { files })).kernel.data, join(folder, 'sub', 'mine'))
  const environment = { NODEKEEP_DATA: 'other' }
  t.equal((await load(folder, { files, environment })).kernel.data, join(folder, 'other'))
  t.equal((await load(folder, { files, environment, flags: { data: 'x' } })).kernel.data, join(folder, 'x'))
})

test('a relative path of a plugin starts at the folder of the file that names it, as all paths do', async (t) => {
  const folder = t.testdir({ sub: {}, data: { former: '' } })
  const schema = Type.Object({ tls: Type.Object({ cert: FilePath(), name: Type.String() }) })
  const certificate = async (cert: string, extra: object = {}) => {
    const files = {
      'node.json': '{ "extends": "sub/a.json", "plugins": { "x": true } }',
      'sub/a.json': JSON.stringify({ x: { tls: { cert, name: 'cert.pem' } } }),
    }
    const { tls } = (await load(folder, { files, ...extra })).section('x', schema) as Static<typeof schema>
    t.equal(tls.name, 'cert.pem', 'a text is no path')
    return tls.cert
  }
  const folders = await load(folder, {
    files: {
      'node.json': '{ "extends": "sub/b.json", "plugins": { "x": true } }',
      'sub/b.json': '{ "x": { "root": "r" } }',
    },
  })
  const root = Type.Object({ root: Type.String() })
  const expected = join(folder, 'sub', 'r')
  t.strictSame(
    folders.section('x', root, ['root']),
    { root: expected },
    'a folder that the manifest declares',
  )
  t.strictSame(folders.section('x', root), { root: 'r' })
  t.strictSame([...folders.paths('x', ['root'])], [['root', expected]])
  t.equal(await certificate('./cert.pem'), join(folder, 'sub', 'cert.pem'))
  t.equal(await certificate('/etc/cert.pem'), '/etc/cert.pem')
  t.equal(
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration replaces it
    await certificate('${NAME}', { environment: { NAME: 'cert.pem' } }),
    join(folder, 'sub', 'cert.pem'),
  )
  t.equal(
    await certificate('cert.pem', { environment: { NODEKEEP_X__TLS__CERT: 'other.pem' } }),
    join(folder, 'other.pem'),
  )
  t.equal(
    await certificate('former'),
    join(folder, 'data', 'former'),
    'where paths of plugins started before',
  )
  writeFileSync(join(folder, 'sub', 'former'), '')
  t.equal(await certificate('former'), join(folder, 'sub', 'former'))
})

test('an unusable file is refused with one line that names the file', async (t) => {
  const cases: Record<string, [files: Record<string, string>, expected: RegExp]> = {
    'missing file': [
      { 'other.json': '{}' },
      /^The configuration file node\.json does not exist\. .*correct the path/,
    ],
    'missing preset': [
      { 'node.json': '{\n  "extends": "gone.json"\n}' },
      /^The configuration file gone\.json does not exist\. It is named by node\.json:2:/,
    ],
    'a folder': [
      { 'node.json': '{ "extends": "sub" }', 'sub/x.json': '{}' },
      /^The configuration file sub is a folder/,
    ],
    'malformed JSON': [
      { 'node.json': '{\n  "server": {\n    "port" 1\n  }\n}' },
      /^node\.json:3 is not valid JSON: colon expected\.$/,
    ],
    'cut short': [
      { 'node.json': '{ "server": {\n' },
      /^node\.json:2 is not valid JSON: close brace expected\.$/,
    ],
    'empty file': [{ 'node.json': '' }, /^node\.json:1 is not valid JSON/],
    'no object': [{ 'node.json': '[]' }, /^node\.json must contain one JSON object/],
    'two claims on a section in one file': [
      { 'node.json': '{\n  "log": {},\n  "log": {}\n}' },
      /^log is written twice in node\.json, in lines 2 and 3\. Keep one/,
    ],
    'extends of a wrong type': [
      { 'node.json': '{ "extends": [1] }' },
      /^extends \(node\.json:1\) must be the name of a preset, the path/,
    ],
    'an unknown preset': [
      { 'node.json': '{ "extends": "nodekeep:../default" }' },
      /^extends \(node\.json:1\) names the preset "nodekeep:\.\.\/default", .* It has nodekeep:default, nodekeep:gateway, nodekeep:minimal\.$/,
    ],
    'a circle': [
      {
        'node.json': '{ "extends": "a.json" }',
        'a.json': '{ "extends": ["b.json"] }',
        'b.json': '{ "extends": "a.json" }',
      },
      /^The presets extend each other in a circle: a\.json → b\.json → a\.json\. Remove/,
    ],
    'arrays in arrays': [
      { 'node.json': `{\n  "x": { "y":\n ${'['.repeat(20_000)}${']'.repeat(20_000)} }\n}` },
      /^x\.y\[0\] \(node\.json:3\) is nested deeper than 100 levels\. Write it in fewer levels\.$/,
    ],
    itself: [{ 'node.json': '{ "extends": "./node.json" }' }, /circle: node\.json → node\.json/],
  }
  for (const [name, [files, expected]] of Object.entries(cases)) {
    const lines = await problemsOf(() => load(t.testdir(), { file: 'node.json', files }))
    t.equal(lines.length, 1, name)
    t.match(lines[0], expected, name)
  }
})

test('every layer refuses keys such as __proto__', async (t) => {
  const folder = t.testdir()
  const evil = JSON.parse('{ "__proto__": { "polluted": true } }')
  const files = { 'node.json': '{ "server": { "__proto__": { "polluted": true } },\n "constructor": 1 }' }
  t.match(await problemsOf(() => load(folder, { files })), [
    /^server\.__proto__ \(node\.json:1\) has a name that cannot be used/,
    /^constructor \(node\.json:2\) has a name/,
  ])
  t.match(await problemsOf(() => load(folder, { inline: evil })), [/^__proto__ \(the given configuration\)/])
  t.match(await problemsOf(() => load(folder, { flags: evil })), [/^__proto__ \(/])
  const environment = {
    NODEKEEP_SERVER__CORS: JSON.stringify({ origins: [] }).replace('origins', '__proto__'),
  }
  t.match(await problemsOf(() => load(folder, { environment })), [
    /^server\.cors\.__proto__ \(the variable/,
    /.*/,
  ])
  t.notOk('polluted' in {})
})
