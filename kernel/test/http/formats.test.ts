import { createTestNode } from '@nodekeep/kernel/testing'
import { definePlugin, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'
import { createValidatorCompiler } from '../../src/http/validator.ts'

const values: readonly (readonly [format: string, right: string, wrong: string])[] = [
  [
    'wallet-address',
    '0x52908400098527886E0F7030069857D2E4169EE7',
    '0x52908400098527886E0F7030069857D2E4169ee7',
  ],
  ['http-origin', 'https://node.example.org', 'https://node.example.org/path'],
  ['hostname', 'nas.local', 'nas local'],
  ['network', '10.0.0.0/8', '10.0.0.0/33'],
  ['api-key', 'sk-123', 'sk 123'],
  ['uuid', '123e4567-e89b-42d3-a456-426614174000', '123'],
  ['date-time', '2026-01-02T03:04:05Z', 'now'],
]

const checker = definePlugin({
  id: 'checker',
  setup({ routes }) {
    routes((app) => {
      for (const [format] of values) {
        const value = Type.Object({ value: Type.String({ format }) })
        const config = { access: 'public', publicReason: 'A test.' } as const
        app.get(`/query/${format}`, { config, schema: { querystring: value } }, async () => ({ right: true }))
        app.post(`/body/${format}`, { config, schema: { body: value } }, async () => ({ right: true }))
      }
    })
  },
})

test('a route schema may use every format of the configuration', async (t) => {
  const node = await createTestNode({ plugins: [checker] })
  t.teardown(() => node.stop())
  const inQuery = (format: string, value: string) =>
    node.fetch(`/query/${format}?${new URLSearchParams({ value })}`)
  const inBody = (format: string, value: string) =>
    node.fetch(`/body/${format}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ value }),
    })
  for (const [format, right, wrong] of values) {
    for (const [part, send] of [
      ['query', inQuery],
      ['body', inBody],
    ] as const) {
      t.equal((await send(format, right)).status, 200, `${format} in the ${part}`)
      const refused = await send(format, wrong)
      t.equal(refused.status, 400, `wrong ${format} in the ${part}`)
      t.match(await refused.json(), {
        code: 'VALIDATION_ERROR',
        message: new RegExp(`^Invalid input: "value" in the ${part} must be `),
      })
    }
  }
  t.match(await (await inBody('wallet-address', 'me')).json(), {
    message: /must be a wallet address: .* \(EIP-55\)\. Copy it again\.$/,
  })
})

test('a log of a validation error does not contain the refused value', async (t) => {
  const compile = createValidatorCompiler()
  const route = { method: 'POST', url: '/', httpStatus: '200' }
  const validate = compile({ ...route, schema: Type.Object({ pin: Type.Integer() }), httpPart: 'body' })
  t.equal(validate({ pin: 'in confidence' }), false)
  t.match(JSON.stringify(validate.errors), /\/pin/)
  t.notMatch(JSON.stringify(validate.errors), /confidence/)
  t.equal(validate({ pin: 7 }), true)
  t.equal(validate.errors, null)
})
