import { Secret, secretKeyword, Type } from '@nodekeep/plugin-sdk'
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
