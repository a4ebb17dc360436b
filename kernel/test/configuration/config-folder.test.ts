import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ByteSize, Secret, Type } from '@nodekeep/plugin-sdk'
import { Ajv } from 'ajv'
import { parse } from 'jsonc-parser'
import { test } from 'tap'
import { loadConfiguration } from '../../src/configuration/configuration.ts'
import { editorSchema } from '../../src/configuration/editor-schema.ts'
import { kernelSchema, pluginSchema } from '../../src/configuration/kernel-schema.ts'
import { documentedRows } from './documented-rows.ts'
import { reference } from './sources.ts'

const root = join(import.meta.dirname, '../../..')

test('the presets are valid and put the data below the working directory', async (t) => {
  const workingDirectory = t.testdir()
  for (const name of ['default.json', 'gateway.json', 'minimal.json']) {
    const file = join(root, 'config', name)
    const configuration = await loadConfiguration({ file, environment: {}, flags: {}, workingDirectory })
    t.equal(configuration.kernel.data, join(workingDirectory, 'data'), name)
    t.equal(configuration.folder, join(root, 'config'), name)
  }
})

test('config/README.md documents exactly the keys of the schema', async (t) => {
  const { plugins: _, ...own } = kernelSchema.properties
  const expected = [...documentedRows(pluginSchema.properties, ['plugins', '<id>']), ...documentedRows(own)]
  const text = await readFile(join(root, 'config/README.md'), 'utf8')
  const rows = text.split('\n').filter((line) => line.startsWith('| `'))
  t.strictSame(rows, expected)
})

test('every section and every key has a description', async (t) => {
  const described = (schema: object, path: string): void => {
    const { properties = {} } = schema as { properties?: Record<string, { description?: string }> }
    for (const [key, child] of Object.entries(properties)) {
      t.match(child.description, /\.$/, `${path}${key}`)
      described(child, `${path}${key}.`)
    }
  }
  described(kernelSchema, '')
})

test('the schema for editors accepts what the node accepts', async (t) => {
  const ajv = new Ajv({ strict: false, logger: false })
  const ai = Type.Object({
    apiKey: Secret({ minLength: 32 }),
    limit: Type.Integer(),
    size: Type.Optional(ByteSize()),
  })
  const check = ajv.compile(
    editorSchema(
      new Map([
        ['ai', ai],
        ['quiet', null],
      ]),
    ),
  )
  const readme = await readFile(join(root, 'config/README.md'), 'utf8')
  const examples = [...readme.matchAll(/```jsonc\n(.*?)```/gs)].map(([, text = '']) => parse(text))
  t.ok(examples.length >= 5, 'the examples are found')
  for (const example of [
    ...examples,
    {
      $schema: 'x',
      extends: ['a.json'],
      server: { port: reference('P') },
      data: 'x',
      log: { level: reference('LEVEL') },
      auth: { owner: reference('OWNER'), allowlist: [reference('ADA')] },
      ai: { apiKey: reference('KEY'), limit: reference('L') },
      quiet: {},
    },
    { extends: 'a.json', plugins: { a: true, b: { from: 'x' } }, ai: { limit: 5, size: '8GB' } },
    { ai: { size: 5 } },
    { server: { port: null }, log: null, plugins: { a: null }, ai: { apiKey: null }, quiet: null },
  ]) {
    t.ok(check(example), JSON.stringify(check.errors))
  }
  for (const wrong of [
    { server: { prot: 1 } },
    { server: { port: 'x' } },
    { log: { level: 'loud' } },
    { ai: { key: 1 } },
    { ai: { size: '8 apples' } },
    { ai: { apiKey: 'short' } },
    { quiet: { a: 1 } },
    { plugins: { a: 'x' } },
  ]) {
    t.notOk(check(wrong), JSON.stringify(wrong))
  }
})
