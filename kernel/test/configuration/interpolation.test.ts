import { Secret, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { load, problemsOf, reference } from './sources.ts'

const schema = Type.Object({
  apiKey: Type.Optional(Secret()),
  url: Type.Optional(Type.String()),
  retries: Type.Optional(Type.Integer()),
  hosts: Type.Optional(Type.Array(Type.String())),
})

test('a file takes values from the environment', async (t) => {
  const configuration = await load(t.testdir(), {
    files: {
      'node.json': JSON.stringify({
        server: { port: reference('MY_PORT') },
        ai: {
          apiKey: reference('KEY'),
          url: `https://${reference('HOST')}:${reference('HTTPS_PORT:-443')}/$${reference('x')}`,
          retries: reference('RETRIES:-3'),
          hosts: [reference('HOST'), reference('EMPTY:-')],
        },
      }),
    },
    environment: { MY_PORT: '4300', KEY: '0123', HOST: 'h', EMPTY: '' },
  })
  t.equal(configuration.kernel.server.port, 4300)
  t.strictSame(configuration.section('ai', schema), {
    apiKey: '0123',
    url: `https://h:443/${reference('x')}`,
    retries: 3,
    hosts: ['h', ''],
  })
})

test('the error about a missing variable names the key, the line and the remedy', async (t) => {
  const files = {
    'node.json': `{\n  "ai": {\n    "apiKey": "${reference('KEY')}",\n    "retries": "${reference('N')}"\n  }\n}`,
  }
  const configuration = await load(t.testdir(), { files, environment: { KEY: '' } })
  t.strictSame(await problemsOf(() => configuration.section('ai', schema)), [
    'ai.apiKey (node.json:3) takes its value from the variable KEY, which is not set. Set KEY, or remove the key.',
    'ai.retries (node.json:4) takes its value from the variable N, which is not set. Set N, or remove the key.',
  ])
})

test('an unused section may refer to missing variables', async (t) => {
  const inline = { plugins: { ai: false }, ai: { apiKey: reference('KEY') } }
  const configuration = await load(t.testdir(), { inline })
  configuration.refuseUnknownSections([])
  t.same(configuration.print(new Map()).values.ai, { apiKey: reference('KEY') })
})

test('a reference without the name of a variable is refused', async (t) => {
  for (const text of [
    reference('').slice(0, 2),
    reference(''),
    reference('A B'),
    reference('A:x'),
    reference('1'),
  ]) {
    const configuration = await load(t.testdir(), {
      inline: { ai: { url: `x${text}` } },
      environment: { A: 'a' },
    })
    const lines = await problemsOf(() => configuration.section('ai', schema))
    t.match(lines, [/^ai\.url \(the given configuration\) has a "\$\{" that names no variable/], text)
    t.equal(lines.length, 1, text)
  }
})

test('the environment and flags are taken literally', async (t) => {
  const configuration = await load(t.testdir(), {
    environment: { NODEKEEP_AI__API_KEY: reference('HOME'), HOME: '/home' },
    flags: { ai: { url: reference('HOME') } },
  })
  t.strictSame(configuration.section('ai', schema), { apiKey: reference('HOME'), url: reference('HOME') })
})

test('a text without a reference stays a text', async (t) => {
  const configuration = await load(t.testdir(), { inline: { ai: { retries: '3' } } })
  t.match(await problemsOf(() => configuration.section('ai', schema)), [
    /must be a whole number, but is a string/,
  ])
})
