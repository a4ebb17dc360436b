import { Secret, Type } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'
import { ConfigurationError } from '../../src/configuration/error.ts'
import { formatPrinted } from '../../src/configuration/printing.ts'
import { load, problemsOf, reference } from './sources.ts'

const secret = 'a-very-secret-value'
const schema = Type.Object({
  apiKey: Secret(),
  url: Type.String({ default: 'https://a.test' }),
  accounts: Type.Record(Type.String(), Type.Object({ name: Type.String(), password: Secret() }), {
    default: {},
  }),
  tokens: Type.Array(Secret(), { default: [] }),
})

const given = {
  files: {
    'node.json': JSON.stringify({
      plugins: { ai: true, off: false },
      ai: {
        apiKey: reference('KEY'),
        url: `https://user:${reference('KEY')}@a.test`,
        accounts: { me: { name: 'me', password: secret } },
        tokens: [secret],
      },
      off: { apiKey: secret, other: reference('KEY'), number: 1, list: [secret] },
    }),
  },
  environment: { KEY: secret, PORT: '4300' },
}

test('a printed configuration shows values and their origins, and no secret', async (t) => {
  const folder = t.testdir()
  const printed = (await load(folder, given)).print(new Map([['ai', schema]]))
  t.strictSame(printed.values.ai, {
    apiKey: '[secret]',
    url: `https://user:${reference('KEY')}@a.test`,
    accounts: { me: { name: 'me', password: '[secret]' } },
    tokens: ['[secret]'],
  })
  t.strictSame(printed.values.off, {
    apiKey: '[secret]',
    other: reference('KEY'),
    number: 1,
    list: ['[secret]'],
  })
  t.match(printed.values, { server: { port: 4300 }, data: `${folder}/data` })
  t.equal(printed.origins.get('server.port'), 'the variable PORT')
  t.equal(printed.origins.get('server.host'), 'default')
  t.equal(printed.origins.get('ai.accounts.me.name'), 'node.json:1')
  t.notMatch(JSON.stringify(printed.values), secret)

  const text = formatPrinted(printed)
  t.match(text, /^ {4}"port": 4300, \/\/ the variable PORT$/m)
  t.notMatch(text, secret)
})

test('an invalid section can be printed, with unknown keys hidden', async (t) => {
  const configuration = await load(t.testdir(), {
    inline: { ai: { apikey: secret, apiKey: [secret], url: 5 } },
  })
  const { values } = configuration.print(new Map([['ai', schema]]))
  t.match(values.ai, { apikey: '[secret]', apiKey: '[secret]', url: 5 })
})

test('the logger knows the secrets of all sections', async (t) => {
  const configuration = await load(t.testdir(), {
    inline: {
      ai: { apiKey: reference('KEY'), accounts: { me: { name: 'me', password: 'p1' } }, tokens: ['t1'] },
    },
    environment: { KEY: secret },
  })
  t.strictSame(configuration.secretValues(), [])
  configuration.section('ai', schema)
  t.strictSame(configuration.secretValues(), [secret, 'p1', 't1'])
})

test('no message contains a secret of any source', async (t) => {
  const strict = Type.Object({
    key: Secret({ minLength: 50, maxLength: 3, pattern: '^x$', format: 'uuid' }),
    n: Type.Integer(),
  })
  const configuration = await load(t.testdir(), {
    inline: { ai: { key: reference('KEY'), n: reference('KEY'), ke: secret } },
    environment: { KEY: secret, NODEKEEP_AI__KEYS: secret },
  })
  const lines = await problemsOf(() => configuration.section('ai', strict))
  t.ok(lines.length >= 6)
  t.notMatch(lines.join('\n'), secret)
})

test('no message contains a value of any key or type', async (t) => {
  const key = fc.constantFrom('apiKey', 'url', 'accounts', 'me', 'name', 'password', 'tokens', 'tokesn', '0')
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(secret, `${secret}-1`, reference('KEY'), null, 1),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(key, tie('value'), { maxKeys: 4 }),
    ),
  }))
  const folder = t.testdir()
  await fc.assert(
    fc.asyncProperty(value, async (ai) => {
      const configuration = await load(folder, { inline: { ai }, environment: { KEY: secret } })
      const lines = await problemsOf(() => {
        configuration.section('ai', schema)
        throw new ConfigurationError([])
      })
      return lines.every((line) => !line.includes(secret) && !line.includes('\n'))
    }),
  )
})
