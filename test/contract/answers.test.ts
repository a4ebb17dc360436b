import { createTestNode } from '@nodekeep/kernel/testing'
import { type ErrorCode, errorStatus } from '@nodekeep/plugin-sdk'
import { test } from 'tap'

/** The codes of the interface, with their statuses. */
const codesOfTheInterface: Partial<Record<ErrorCode, number>> = {
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  VALIDATION_ERROR: 400,
  INTERNAL_ERROR: 500,
}

test('GET /whoami answers with exactly the fields of the interface', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  const anonymous = await node.fetch('/whoami')
  t.same([anonymous.status, await anonymous.json()], [200, { user: { authenticated: false } }])

  const wrong = await node.fetch('/whoami', { headers: { authorization: 'Bearer nonsense' } })
  t.same(
    [wrong.status, await wrong.json()],
    [200, { user: { authenticated: false } }],
    'a wrong token is not an error',
  )

  const { token, user } = await node.signIn()
  const { uuid, username, wallet } = user
  for (const headers of [{ authorization: `Bearer ${token}` }, { cookie: `session=${token}` }]) {
    const answer = await node.fetch('/whoami', { headers })
    t.same(
      await answer.json(),
      { user: { uuid, username, wallet, authenticated: true } },
      Object.keys(headers).join(),
    )
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  }
  t.match(wallet, /^0x[\dA-Fa-f]{40}$/)
})

test('GET /health answers with exactly the fields of the interface', async (t) => {
  const node = await createTestNode()
  t.teardown(() => node.stop())
  const report = (await (await node.fetch('/health')).json()) as Record<string, unknown>
  t.same(Object.keys(report), ['status', 'database', 'ipfs', 'uptime'])
  t.match(report, { status: 'ok', database: 'connected', ipfs: String, uptime: Number })
  t.ok(Number.isInteger(report.uptime))
})

test('an error has exactly three fields, with the codes and statuses of the interface', async (t) => {
  for (const [code, status] of Object.entries(codesOfTheInterface))
    t.equal(errorStatus[code as ErrorCode], status, code)
  const node = await createTestNode()
  t.teardown(() => node.stop())
  const user = await node.signIn()
  const owner = await node.signIn('owner')
  const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' }
  const requests: readonly (readonly [Promise<Response>, ErrorCode])[] = [
    [node.fetch('/openapi.json'), 'UNAUTHORIZED'],
    [user.fetch('/api/system/plugins'), 'FORBIDDEN'],
    [node.fetch('/nothing/here'), 'NOT_FOUND'],
    [owner.fetch('/api/system/plugins/unknown/disable', { method: 'POST' }), 'NOT_FOUND'],
    [node.fetch('/%zz'), 'VALIDATION_ERROR'],
    [node.fetch('/auth/any', body), 'VALIDATION_ERROR'],
    [node.fetch('/health', { method: 'DELETE' }), 'METHOD_NOT_ALLOWED'],
    [node.fetch('/auth/any', { method: 'POST', body: 'text' }), 'UNSUPPORTED_MEDIA_TYPE'],
    [node.fetch('/auth/any', { ...body, body: 'a'.repeat(2_000_000) }), 'PAYLOAD_TOO_LARGE'],
  ]
  for (const [pending, code] of requests) {
    const answer = await pending
    t.equal(answer.status, errorStatus[code], code)
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    const { error, message, code: actual, ...rest } = (await answer.json()) as Record<string, unknown>
    t.same([error, actual, rest], [true, code, {}])
    t.type(message, 'string')
  }
})
