import { ByteSize, Secret, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { load, problemsOf } from './sources.ts'

const openai = Type.Object({
  apiKey: Secret(),
  baseURL: Type.String({ default: 'https://api.example.test' }),
  maxFileSize: Type.Integer({ default: 1 }),
  stream: Type.Boolean({ default: false }),
  mounts: Type.Record(Type.String(), Type.String(), { default: {} }),
  models: Type.Array(Type.String(), { default: [] }),
  limits: Type.Object({ perMinute: Type.Number({ default: 60 }), name: Type.String({ default: '' }) }),
  size: Type.Union([Type.Integer(), Type.String()], { default: 0 }),
})

test('later layers win, in the order defaults, presets, file, environment, flags', async (t) => {
  const files = { 'preset.json': '{ "server": { "port": 1, "host": "a" } }' }
  const layered = (rest: object) =>
    load(t.testdir(), {
      files: { ...files, 'node.json': JSON.stringify({ extends: './preset.json', ...rest }) },
    })
  t.equal((await layered({})).kernel.server.port, 1)
  t.equal((await layered({ server: { port: 2 } })).kernel.server.port, 2)
  t.equal((await layered({ server: { port: 2 } })).kernel.server.host, 'a')
  const file = { inline: { server: { port: 2 } } }
  const environment = { PORT: '3' }
  t.equal((await load(t.testdir(), { ...file, environment })).kernel.server.port, 3)
  const both = { PORT: '3', NODEKEEP_SERVER__PORT: '4' }
  t.equal((await load(t.testdir(), { ...file, environment: both })).kernel.server.port, 4)
  const flags = { server: { port: '5', host: undefined } }
  const { server } = (await load(t.testdir(), { ...file, environment: both, flags })).kernel
  t.equal(server.port, 5, 'the text of a flag is parsed as the type of its key')
  t.equal(server.host, '127.0.0.1')
})

test('a variable is parsed as the type of its key', async (t) => {
  const configuration = await load(t.testdir(), {
    inline: { 'ai-openai': { mounts: { '/': 'local' } } },
    environment: {
      NODEKEEP_AI_OPENAI__API_KEY: '12345',
      NODEKEEP_AI_OPENAI__BASE_URL: 'true',
      NODEKEEP_AI_OPENAI__MAX_FILE_SIZE: ' 209715200 ',
      NODEKEEP_AI_OPENAI__STREAM: 'true',
      NODEKEEP_AI_OPENAI__MOUNTS: '{ "/archive": "s3" }',
      NODEKEEP_AI_OPENAI__MODELS: '["a", "b"]',
      NODEKEEP_AI_OPENAI__LIMITS: '{ "perMinute": 1, "name": "json" }',
      NODEKEEP_AI_OPENAI__LIMITS__PER_MINUTE: '2.5',
      NODEKEEP_AI_OPENAI__SIZE: 'large',
      NODEKEEP_CONFIG: 'ignored.json',
      NODEKEEP_LOG__LEVEL: '',
      UNRELATED: 'x',
    },
  })
  t.strictSame(configuration.section('ai-openai', openai), {
    apiKey: '12345',
    baseURL: 'true',
    maxFileSize: 209715200,
    stream: true,
    mounts: { '/': 'local', '/archive': 's3' },
    models: ['a', 'b'],
    limits: { perMinute: 2.5, name: 'json' },
    size: 'large',
  })
  t.equal(configuration.kernel.log.level, 'info', 'an empty variable counts as not set')
  configuration.refuseUnknownSections([])
})

test('a variable with "null" removes what a file sets', async (t) => {
  const schema = Type.Object({
    limit: ByteSize({ default: 5 }),
    list: Type.Array(Type.String(), { default: [] }),
  })
  const configuration = await load(t.testdir(), {
    inline: { storage: { limit: 7, list: ['a'] } },
    environment: { NODEKEEP_STORAGE__LIMIT: 'null', NODEKEEP_STORAGE__LIST: 'null' },
  })
  t.strictSame(configuration.section('storage', schema), { limit: 5, list: [] })
})

test('each instance of a plugin has its own variables', async (t) => {
  const configuration = await load(t.testdir(), {
    inline: { plugins: { lmstudio: { from: 'ai-openai' }, 'ai-openai': true } },
    environment: { NODEKEEP_LMSTUDIO__API_KEY: 'one', NODEKEEP_AI_OPENAI__API_KEY: 'two' },
  })
  t.match(configuration.section('lmstudio', openai), { apiKey: 'one' })
  t.match(configuration.section('ai-openai', openai), { apiKey: 'two' })
})

test('an error about a value names the variable and its key', async (t) => {
  const lines = await problemsOf(() =>
    load(t.testdir(), {
      environment: {
        PORT: 'http',
        NODEKEEP_SERVER__TRUSTED_PROXIES: '10.0.0.1',
        NODEKEEP_SESSION__EXPIRY_DAYS: '1.5',
        NODEKEEP_SERVER__CORS: '{',
      },
    }),
  )
  t.strictSame([...lines].sort(), [
    'server.cors (the variable NODEKEEP_SERVER__CORS) must be an object, but is a string. Write it as JSON, such as {"key": "value"}.',
    'server.port (the variable PORT) must be a whole number, but is a string.',
    'server.trustedProxies (the variable NODEKEEP_SERVER__TRUSTED_PROXIES) must be an array, but is a string. Write it as JSON, such as ["first", "second"].',
    'session.expiryDays (the variable NODEKEEP_SESSION__EXPIRY_DAYS) must be a whole number, but is a number.',
  ])
})

test('the error about an unknown variable suggests the nearest one', async (t) => {
  t.match(await problemsOf(() => load(t.testdir(), { environment: { NODEKEEP_SERVER__PROT: '1' } })), [
    /^The variable NODEKEEP_SERVER__PROT matches no configuration key\. Did you mean "NODEKEEP_SERVER__PORT"\?$/,
  ])
  const environment = { NODEKEEP_AI_OPENAI__APIKEY: 's', NODEKEEP_SERVRE__PORT: '1', NODEKEEP_OFF__KEY: '1' }
  const configuration = await load(t.testdir(), { inline: { plugins: { off: false } }, environment })
  t.match(await problemsOf(() => configuration.section('ai-openai', openai)), [
    /NODEKEEP_AI_OPENAI__APIKEY matches no .* Did you mean "NODEKEEP_AI_OPENAI__API_KEY"/,
    /^ai-openai\.apiKey is missing\. Set it in the configuration file, or the variable NODEKEEP_AI_OPENAI__API_KEY\.$/,
  ])
  t.match(await problemsOf(() => configuration.refuseUnknownSections([])), [
    /NODEKEEP_SERVRE__PORT matches no .* Did you mean "NODEKEEP_SERVER__PORT"/,
  ])
})

test('variables enable and disable plugins', async (t) => {
  const { plugins } = await load(t.testdir(), {
    inline: { plugins: { 'ai-openai': true, acme: { from: '@acme/ai', required: false, enabled: false } } },
    environment: {
      NODEKEEP_PLUGINS__AI_OPENAI: 'false',
      NODEKEEP_PLUGINS__ACME: 'true',
      NODEKEEP_PLUGINS__EXTRA: '{ "from": "x" }',
      NODEKEEP_PLUGINS__EXTRA__REQUIRED: 'false',
    },
  })
  t.match(plugins, [
    { id: 'ai-openai', enabled: false, where: 'the variable NODEKEEP_PLUGINS__AI_OPENAI' },
    { id: 'acme', enabled: true, from: '@acme/ai', required: false },
    { id: 'extra', enabled: true, from: 'x', required: false },
  ])
  const environment = { NODEKEEP_PLUGINS__ACME__FORM: 'x', NODEKEEP_PLUGINS__X: 'maybe' }
  t.match(await problemsOf(() => load(t.testdir(), { environment })), [
    /NODEKEEP_PLUGINS__ACME__FORM matches no .* Did you mean "NODEKEEP_PLUGINS__ACME__FROM"/,
    /^plugins\.x \(the variable NODEKEEP_PLUGINS__X\) must be true, false, or an object/,
  ])
})
