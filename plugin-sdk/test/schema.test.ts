import { Secret, secretKeyword, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

test('a secret is a string schema that says so', async (t) => {
  t.match(JSON.parse(JSON.stringify(Secret())), { type: 'string', writeOnly: true, [secretKeyword]: true })
})

test('a secret takes the options of a string', async (t) => {
  const schema = Secret({ minLength: 32, description: 'Signs links.' })
  t.match(JSON.parse(JSON.stringify(schema)), {
    type: 'string',
    minLength: 32,
    description: 'Signs links.',
    [secretKeyword]: true,
  })
})

test('a secret cannot be declared open', async (t) => {
  const schema = Secret({ writeOnly: false, [secretKeyword]: false })
  t.match(schema, { writeOnly: true, [secretKeyword]: true })
})

test('a schema is plain JSON Schema: nothing is lost on the way through JSON', async (t) => {
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
