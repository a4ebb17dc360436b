import { type LoginCredentials, type LoginProvider, NodekeepError } from '@nodekeep/plugin-sdk'
import fc from 'fast-check'
import { test } from 'tap'
import { createLoginNode } from './fixtures/login-node.ts'
import { sendJson, user, userInfo } from './fixtures/particle-server.ts'

const origin = new URL('http://127.0.0.1')

function verify(provider: LoginProvider, changes: object = {}, signal = new AbortController().signal) {
  return provider.verify({ ...user, ...changes } as LoginCredentials, { origin, signal })
}

test('The provider calls getUserInfo and returns the verified user', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const verified = await verify(provider, { address: user.address.toLowerCase() })
  t.strictSame(verified, { uuid: user.uuid, address: user.address })
  t.strictSame(server.questions, [
    { jsonrpc: '2.0', id: 1, method: 'getUserInfo', params: [user.uuid, user.token] },
  ])
})

test('The provider finds the wallet among several', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const other = `0x${'1'.repeat(40)}`
  const wallets = [{ chain: 'evm_chain', publicAddress: other }, ...userInfo.wallets]
  server.answer = (response) =>
    sendJson(response, { jsonrpc: '2.0', id: 1, result: { ...userInfo, wallets } })
  t.equal((await verify(provider)).address, user.address)
  t.equal((await verify(provider, { address: other })).address, other)
})

test('A user whom the answer does not prove is not signed in', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const evm = { chain: 'evm_chain', publicAddress: user.address }
  const cases: Record<string, object> = {
    'another uuid': { ...userInfo, uuid: 'b7b8c1a4-31f8-4df4-9d0b-bb5a5e7a4c2f' },
    'the uuid in other letters': { ...userInfo, uuid: user.uuid.toUpperCase() },
    'another wallet': { ...userInfo, wallets: [{ ...evm, publicAddress: `0x${'1'.repeat(40)}` }] },
    'a longer address': { ...userInfo, wallets: [{ ...evm, publicAddress: `${user.address}00` }] },
    'no EVM wallet': { ...userInfo, wallets: userInfo.wallets.slice(0, 1) },
    'the address on another chain': { ...userInfo, wallets: [{ ...evm, chain: 'solana' }] },
    'a chain of nearly that name': { ...userInfo, wallets: [{ ...evm, chain: 'EVM_CHAIN' }] },
    'no wallet': { ...userInfo, wallets: [] },
  }
  for (const [name, result] of Object.entries(cases)) {
    server.answer = (response) => sendJson(response, { jsonrpc: '2.0', id: 1, result })
    await t.rejects(verify(provider), { code: 'UNAUTHORIZED' }, name)
  }
})

test('A wrong user or token is refused for every code of Particle Network', async (t) => {
  const { provider, server } = await createLoginNode(t)
  await t.rejects(verify(provider, { token: '00000000-0000-4000-8000-000000000000' }), {
    code: 'UNAUTHORIZED',
  })
  for (const code of [40101, 10002, 10005, -32602, 8000]) {
    server.answer = (response) =>
      sendJson(response, { jsonrpc: '2.0', id: 1, error: { code, message: 'No' } })
    await t.rejects(verify(provider), { code: 'UNAUTHORIZED', message: /Sign in there again/ }, String(code))
  }
  // An error has precedence over a result beside it.
  server.answer = (response) =>
    sendJson(response, { jsonrpc: '2.0', id: 1, error: { code: 40101, message: 'No' }, result: userInfo })
  await t.rejects(verify(provider), { code: 'UNAUTHORIZED' })
})

test('Malformed credentials are not sent', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const long = 'x'.repeat(4097)
  const cases: [keyof LoginCredentials, unknown[]][] = [
    [
      'uuid',
      ['', 'ada', `${user.uuid} `, `{${user.uuid}}`, user.uuid.replaceAll('-', ''), `${user.uuid}\n`, long],
    ],
    [
      'address',
      ['', user.address.slice(2), `${user.address}0`, `${user.address.slice(0, -1)}g`, `${user.address}\n`],
    ],
    ['token', ['', ' ', 'a b', 'a\r\nx: 1', 'ü', '\0', long]],
  ]
  for (const [field, values] of cases) {
    for (const value of [...values, undefined, null, 7, {}, [user[field]]]) {
      const message = new RegExp(`^"${field}" must be`)
      await t.rejects(verify(provider, { [field]: value }), { code: 'VALIDATION_ERROR', message })
    }
  }
  t.strictSame(server.questions, [])
  await t.rejects(
    verify(provider, { token: long.slice(1) }),
    { code: 'UNAUTHORIZED' },
    'A token of the maximum length is sent.',
  )
})

test('Random answers never sign in and always end in an error of the table', async (t) => {
  const { provider, server } = await createLoginNode(t)
  const wallet = fc.oneof(
    fc.anything(),
    fc.record({ chain: fc.constantFrom('evm_chain', 'solana', 1), publicAddress: fc.string() }),
  )
  const result = fc.oneof(
    fc.anything(),
    fc.record({
      uuid: fc.constantFrom(user.uuid, '', null),
      wallets: fc.oneof(fc.anything(), fc.array(wallet)),
    }),
  )
  const error = fc.oneof(fc.anything(), fc.record({ code: fc.oneof(fc.integer(), fc.anything()) }))
  const message = fc.oneof(
    fc.json().map((text) => JSON.parse(text)),
    fc.record(
      { jsonrpc: fc.constant('2.0'), id: fc.constantFrom(1, 2, null), result, error },
      { requiredKeys: [] },
    ),
  )
  const codes = ['UNAUTHORIZED', 'UPSTREAM_ERROR']
  await fc.assert(
    fc.asyncProperty(message, async (body) => {
      server.answer = (response) => {
        const text = JSON.stringify(body, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
        response.writeHead(200, { 'content-type': 'application/json' }).end(text)
      }
      const thrown = await verify(provider).catch((error: unknown) => error)
      if (!(thrown instanceof NodekeepError)) throw new Error(`Not refused: ${JSON.stringify(thrown)}`)
      return codes.includes(thrown.code)
    }),
    { numRuns: 200 },
  )
})
