import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { configuration } from '../src/configuration.ts'

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly default?: unknown
  readonly description?: string
}

function keysOf({ properties = {} }: Schema, above = ''): [key: string, value: string][] {
  return Object.entries(properties).flatMap(([name, schema]) =>
    schema.properties === undefined
      ? [[`${above}${name}`, JSON.stringify(schema.default)] as [string, string]]
      : keysOf(schema, `${above}${name}.`),
  )
}

t.test('The README documents every key with its default', async (t) => {
  const text = await readFile(join(import.meta.dirname, '../README.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([a-zA-Z.]+)` \| `([^`]+)` \| .+\. \|$/gm)].map(([, key, value]) => [
    key,
    value,
  ])
  t.strictSame(rows, keysOf(configuration as Schema))
})
