import { Checked, Secret, Type } from '@nodekeep/plugin-sdk'
import { checkKeyword, secretKeyword } from '@nodekeep/plugin-sdk/host'
import { test } from 'tap'

test('A secret is a string schema with its keyword', async (t) => {
  t.match(JSON.parse(JSON.stringify(Secret())), { type: 'string', writeOnly: true, [secretKeyword]: true })
})

test('A secret accepts the options of a string', async (t) => {
  const schema = Secret({ minLength: 32, description: 'Signs links.' })
  t.match(JSON.parse(JSON.stringify(schema)), {
    type: 'string',
    minLength: 32,
    description: 'Signs links.',
    [secretKeyword]: true,
  })
})

test('An option cannot turn off the secrecy of a secret', async (t) => {
  const schema = Secret({ writeOnly: false, [secretKeyword]: false })
  t.match(schema, { writeOnly: true, [secretKeyword]: true })
})

test('A schema is plain JSON Schema and survives JSON unchanged', async (t) => {
  const schema = Type.Object({ token: Secret(), limit: Type.Optional(Type.Integer({ minimum: 1 })) })
  t.strictSame(JSON.parse(JSON.stringify(schema)), {
    type: 'object',
    required: ['token'],
    properties: {
      token: { type: 'string', writeOnly: true, [secretKeyword]: true },
      limit: { type: 'integer', minimum: 1 },
    },
  })
})

test('A checked text keeps its check beside the options, also where it is optional, and JSON leaves it out', async (t) => {
  const isShort = (text: string) => (text.length < 3 ? null : 'is too long. Shorten it.')
  const schema = Type.Object({ name: Type.Optional(Checked(isShort, { description: 'A name.' })) })
  const name = schema.properties.name as unknown as Record<string, unknown>
  t.equal(name[checkKeyword], isShort)
  t.strictSame(JSON.parse(JSON.stringify(schema)).properties, {
    name: { type: 'string', description: 'A name.' },
  })
})
