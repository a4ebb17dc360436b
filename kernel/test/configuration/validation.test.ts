import { Secret, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { checkSectionClaims } from '../../src/configuration/sections.ts'
import { load, problemsOf } from './sources.ts'

const schema = Type.Object({
  apiKey: Secret({ minLength: 8, pattern: '^sk-' }),
  mode: Type.Union([Type.Literal('fast'), Type.Literal('slow')], { default: 'fast' }),
  level: Type.Enum(['low', 'high'], { default: 'low' }),
  retries: Type.Integer({ default: 3, minimum: 0, maximum: 9 }),
  url: Type.String({ default: 'https://a.test', format: 'uri' }),
  limits: Type.Object({ perMinute: Type.Number({ default: 60, minimum: 1 }) }),
  open: Type.Object({ known: Type.Optional(Type.String()) }, { additionalProperties: true, default: {} }),
  mounts: Type.Record(Type.String(), Type.Object({ backend: Type.String() }), { default: {} }),
  target: Type.Optional(
    Type.Union([Type.Object({ file: Type.String() }), Type.Object({ port: Type.Integer() }), Type.Boolean()]),
  ),
})

const apiKey = 'sk-12345678'

test('defaults fill a section, including missing objects', async (t) => {
  const configuration = await load(t.testdir(), { inline: { ai: { apiKey, open: { other: 1 } } } })
  t.strictSame(configuration.section('ai', schema), {
    apiKey,
    mode: 'fast',
    level: 'low',
    retries: 3,
    url: 'https://a.test',
    limits: { perMinute: 60 },
    open: { other: 1 },
    mounts: {},
  })
})

test('a schema of true accepts everything, and one of false nothing', async (t) => {
  const any = { type: 'object', properties: { extra: true, never: false } } as never
  const configuration = await load(t.testdir(), { inline: { ai: { extra: [1] }, files: { never: 1 } } })
  t.strictSame(configuration.section('ai', any), { extra: [1] })
  t.equal((await problemsOf(() => configuration.section('files', any))).length, 1)
})

test('each call returns a copy', async (t) => {
  const configuration = await load(t.testdir(), {
    inline: { ai: { apiKey, mounts: { '/': { backend: 'a' } } } },
  })
  const first = configuration.section('ai', schema) as { mounts: Record<string, unknown> }
  first.mounts.evil = true
  t.strictSame((configuration.section('ai', schema) as typeof first).mounts, { '/': { backend: 'a' } })
})

test('every problem is one line with the key, the line and the remedy', async (t) => {
  const files = {
    'node.json': `{
  "ai": {
    "apikey": "sk-verysecretvalue",
    "apiKey": "verysecretvalue",
    "mode": "medium",
    "level": "verysecretvalue",
    "retries": 10,
    "url": "verysecretvalue",
    "limits": { "perMinutes": 1, "perMinute": 0 },
    "mounts": { "/": { "backnd": "x" }, "/b": "verysecretvalue" },
    "target": { "port": "verysecretvalue" }
  }
}`,
  }
  const configuration = await load(t.testdir(), { files })
  const lines = await problemsOf(() => configuration.section('ai', schema))
  t.strictSame([...lines].sort(), [
    'ai.apiKey (node.json:4) must match the pattern ^sk-.',
    'ai.apikey (node.json:3) is not a known key. Did you mean "apiKey"?',
    'ai.level (node.json:6) must be one of "low", "high".',
    'ai.limits.perMinute (node.json:9) must be at least 1.',
    'ai.limits.perMinutes (node.json:9) is not a known key. Did you mean "perMinute"?',
    'ai.mode (node.json:5) must be one of "fast", "slow".',
    'ai.mounts["/"].backend is missing. Set it in node.json, or the variable NODEKEEP_AI__MOUNTS as JSON.',
    'ai.mounts["/"].backnd (node.json:10) is not a known key. Did you mean "backend"?',
    'ai.mounts["/b"] (node.json:10) must be an object, but is a string.',
    'ai.retries (node.json:7) must be between 0 and 9.',
    'ai.target.port (node.json:11) must be a whole number, but is a string.',
    'ai.url (node.json:8) must be a valid uri.',
  ])
  t.notMatch(lines.join('\n'), /verysecretvalue/)
})

test('the error about alternatives explains the closest one', async (t) => {
  const either = Type.Object({
    target: Type.Union([
      Type.Boolean(),
      Type.Object({ kind: Type.Literal('tcp'), port: Type.Integer() }),
      Type.Object({ kind: Type.Literal('unix'), path: Type.String() }),
    ]),
  })
  const cases: [target: unknown, expected: RegExp][] = [
    [{ kind: 'tcp', port: 'x' }, /^a\.target\.port .* must be a whole number, but is a string/],
    [{ kind: 'unix', path: '', paht: 1 }, /^a\.target\.paht .* Did you mean "path"/],
    [
      'x',
      /^a\.target .* must be true or false or an object with "kind", "port" or an object with "kind", "path"/,
    ],
    [{}, /^a\.target .* must be true or false or an object with/],
  ]
  for (const [target, expected] of cases) {
    const configuration = await load(t.testdir(), { inline: { a: { target } } })
    const lines = await problemsOf(() => configuration.section('a', either))
    t.match(lines, [expected])
    t.equal(lines.length, 1)
  }
})

test('a plugin without configuration refuses every key and variable', async (t) => {
  const inline = { quiet: { loud: 1 } }
  const configuration = await load(t.testdir(), { inline, environment: { NODEKEEP_QUIET__LOUD: '1' } })
  t.strictSame(await problemsOf(() => configuration.section('quiet', null)), [
    'The variable NODEKEEP_QUIET__LOUD matches no configuration key. There are no keys here.',
    'quiet.loud (the given configuration) is not a known key. There are no keys here.',
  ])
  t.strictSame((await load(t.testdir(), {})).section('quiet', null), {})
})

test('a section of a wrong type and a wrong schema are refused', async (t) => {
  const configuration = await load(t.testdir(), { inline: { ai: 5 } })
  t.strictSame(await problemsOf(() => configuration.section('ai', schema)), [
    'ai (the given configuration) must be an object, but is a number.',
  ])
  const wrong = Type.Object({ a: Type.Unsafe({ type: 'strng' }) })
  t.match(await problemsOf(() => configuration.section('b', wrong)), [/^The section "b" cannot be checked/])
})

test("loading a configuration checks the kernel's sections", async (t) => {
  const inline = {
    server: { prot: 1, host: '', publicUrl: 'https://a.test/path', trustedProxies: ['10.0.0.0/33', '::1'] },
    auth: { admission: 'all', owner: '0x12', allowlist: '0x' },
    session: { expiryDays: 0 },
    log: { level: 'loud' },
    data: '',
  }
  const lines = await problemsOf(() => load(t.testdir(), { inline }))
  const place = '(the given configuration)'
  t.strictSame([...lines].sort(), [
    `auth.admission ${place} must be one of "owner", "allowlist", "open".`,
    `auth.allowlist ${place} must be an array, but is a string.`,
    `auth.owner ${place} must be a wallet address: "0x" and 40 hexadecimal digits, in one case or in the mixed case of its checksum (EIP-55). Copy it again.`,
    `data ${place} must not be empty.`,
    `log.level ${place} must be one of "trace", "debug", "info", "warn", "error", "fatal", "silent".`,
    `server.host ${place} must not be empty.`,
    `server.prot ${place} is not a known key. Did you mean "port"?`,
    `server.publicUrl ${place} must be an http or https address without path, such as "https://node.example.org".`,
    `server.trustedProxies[0] ${place} must be an IP address or a network such as "10.0.0.0/8".`,
    `session.expiryDays ${place} must be between 1 and 3650.`,
  ])
})

test('a wallet with a wrong checksum is refused', async (t) => {
  const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
  const misread = wallet.replace('5aA', '5aa')
  for (const owner of [wallet, wallet.toLowerCase(), `0x${wallet.slice(2).toUpperCase()}`]) {
    t.equal((await load(t.testdir(), { inline: { auth: { owner } } })).kernel.auth.owner, owner)
  }
  const inline = { auth: { owner: misread, allowlist: [wallet, misread] } }
  t.match(await problemsOf(() => load(t.testdir(), { inline })), [
    /^auth\.owner .*checksum \(EIP-55\)\. Copy it again\.$/,
    /^auth\.allowlist\[1\] .*checksum \(EIP-55\)\. Copy it again\.$/,
  ])
})

test('the section of plugins has true, false or an object for each id', async (t) => {
  const folder = t.testdir()
  const files = {
    'node.json': '{ "extends": "sub/base.json",\n "plugins": { "ai": true, "update": false } }',
    'sub/base.json':
      '{ "plugins": { "acme": { "from": "./acme", "required": false },\n "update": { "from": "tuf" } } }',
  }
  t.strictSame((await load(folder, { files })).plugins, [
    {
      id: 'acme',
      enabled: true,
      from: './acme',
      required: false,
      folder: `${folder}/sub`,
      where: 'sub/base.json:1',
    },
    {
      id: 'update',
      enabled: false,
      from: 'tuf',
      required: true,
      folder: `${folder}/sub`,
      where: 'node.json:2',
    },
    { id: 'ai', enabled: true, from: null, required: true, folder, where: 'node.json:2' },
  ])
  const inline = { plugins: { Acme: true, server: true, a: 'yes', b: { form: 'x' }, c: { required: 1 } } }
  t.match(await problemsOf(() => load(folder, { inline })), [
    /^plugins\.Acme .* is not a plugin id: write lower case/,
    /^plugins\.server .* has the name of a section of the kernel/,
    /^plugins\.a .* must be true, false, or an object/,
    /^plugins\.b\.form .* Did you mean "from"/,
    /^plugins\.c\.required .* must be true or false, but is a number/,
  ])
})

test('a section without an owner is refused', async (t) => {
  const inline = { plugins: { ai: false, files: true }, ai: {}, storage: {}, storag: {}, sevrer: {} }
  const configuration = await load(t.testdir(), { inline, flags: { logs: { level: 'info' } } })
  t.match(
    await problemsOf(() => configuration.refuseUnknownSections([{ plugin: 'storage', section: 'storage' }])),
    [
      /^storag \(the given configuration\) is not a known section\. Did you mean "storage"\?/,
      /^sevrer .* Did you mean "server"/,
      /^logs .* Did you mean "log"/,
    ],
  )
})

test('two claims on a section, or one on a section of the kernel, are refused', async (t) => {
  checkSectionClaims([
    { plugin: 'files', section: 'storage' },
    { plugin: 'ai', section: 'ai' },
  ])
  const claims = ['files', 'shelf'].map((plugin) => ({ plugin, section: 'storage' }))
  t.strictSame(await problemsOf(() => checkSectionClaims([...claims, { plugin: 'x', section: 'auth' }])), [
    'The plugins "files" and "shelf" claim the same section "storage". Keep one of them in "plugins".',
    'The plugin "x" claims the section "auth", which is the kernel\'s. Remove the plugin from "plugins".',
  ])
})
