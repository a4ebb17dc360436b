import { createTestNode } from '@nodekeep/kernel/testing'
import { Checked, definePlugin, Type } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

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
  const pins = definePlugin({
    id: 'pins',
    setup({ routes }) {
      routes((app) => {
        const schema = { body: Type.Object({ pin: Type.Integer() }) }
        const config = { access: 'public', publicReason: 'The tests ask.' } as const
        app.post('/pins', { schema, config, attachValidation: true }, async ({ validationError, log }) => {
          log.error({ err: validationError }, 'A pin was refused.')
          throw validationError
        })
      })
    },
  })
  const lines: string[] = []
  const node = await createTestNode({ plugins: [pins], onLog: (line) => lines.push(JSON.stringify(line)) })
  t.teardown(() => node.stop())
  const body = JSON.stringify({ pin: 'in confidence' })
  const headers = { 'content-type': 'application/json' }
  const answer = await node.fetch('/pins', { method: 'POST', headers, body })
  t.match(await answer.json(), {
    code: 'VALIDATION_ERROR',
    message: 'Invalid input: "pin" in the body must be a whole number, but is a string.',
  })
  const logged = lines.filter((line) => line.includes('A pin was refused.'))
  t.match(logged.join(), '/pin')
  t.notMatch(lines.join(), 'confidence')
})

test('a route schema may check a text by code', async (t) => {
  const even = Checked((text) => (text.length % 2 === 0 ? null : 'has an odd length. Add a letter.'))
  const app = definePlugin({
    id: 'even',
    setup({ routes }) {
      routes((app) => {
        const config = { access: 'public', publicReason: 'A test.' } as const
        const querystring = Type.Object({ texts: Type.Array(even) })
        app.get('/even', { config, schema: { querystring } }, async () => ({ right: true }))
      })
    },
  })
  const node = await createTestNode({ plugins: [app] })
  t.teardown(() => node.stop())
  t.equal((await node.fetch('/even?texts=ab&texts=')).status, 200)
  const refused = await node.fetch('/even?texts=ab&texts=a')
  t.equal(refused.status, 400)
  t.match(await refused.json(), { message: /"texts\.1" in the query has an odd length\. Add a letter\.$/ })
  const described = await (await node.signIn()).fetch('/openapi.json')
  t.equal(described.status, 200, 'the description of the routes leaves the function out')
  t.match(await described.json(), { paths: { '/even': Object } })
})
