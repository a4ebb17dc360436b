import fc from 'fast-check'
import { test } from 'tap'
import { createToken, isTokenForm } from '../../src/sessions/token.ts'
import { expectError } from '../fixtures/expect-error.ts'
import { startLoginNode, wallet } from '../fixtures/login-node.ts'

const ada = wallet(1)
const protectedPath = '/api/account/sessions'

test('the node takes a token only from the header or the cookie', async (t) => {
  const { openSession, fetch, send } = await startLoginNode(t)
  const { sessionToken: token } = await openSession(ada)
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(path, { headers })).status
  t.equal(await status(protectedPath, { authorization: `Bearer ${token}` }), 200)
  t.equal(await status(protectedPath, { authorization: `bearer   ${token}  ` }), 200)
  t.equal(await status(protectedPath, { cookie: `session=${token}` }), 200)

  for (const name of ['session', 'token', 'sessionToken', 'access_token', 'authorization', 'claim']) {
    t.equal(await status(`${protectedPath}?${name}=${token}`), 401, `?${name}=`)
    const body = { [name]: token, username: 'adaada' }
    await expectError(t, await send('PATCH', '/api/account', body), 401, 'UNAUTHORIZED')
    const given = { authorization: `Bearer ${token}` }
    await expectError(t, await send('PATCH', '/api/account', body, given), 400, 'VALIDATION_ERROR')
  }
  for (const headers of [
    { referer: `http://localhost/?session=${token}` },
    { 'x-session': token },
    { 'x-auth-token': token },
    { 'x-api-key': token },
    { 'proxy-authorization': `Bearer ${token}` },
    { 'sec-websocket-protocol': token },
    { authorization: token },
    { authorization: `Basic ${Buffer.from(`x:${token}`).toString('base64')}` },
    { authorization: `Basic ${token}` },
    { authorization: `Token ${token}` },
    { authorization: `Bearer: ${token}` },
    { authorization: `Bearer${token}` },
    { authorization: `Bearer ${token} x` },
    { authorization: `Bearer x, Bearer ${token}` },
    { authorization: `Bearer "${token}"` },
    { cookie: `Session=${token}` },
    { cookie: `session2=${token}` },
    { cookie: `sessionToken=${token}` },
  ] as Record<string, string>[]) {
    t.equal(await status(protectedPath, headers), 401, JSON.stringify(Object.keys(headers)))
  }
})

test('the header takes precedence over the cookie', async (t) => {
  const { openSession, fetch } = await startLoginNode(t)
  const [one, two] = [await openSession(ada), await openSession(wallet(2))]
  const who = async (authorization: string) => {
    const headers = { authorization, cookie: `session=${two.sessionToken}` }
    const body = (await (await fetch('/whoami', { headers })).json()) as { user: { wallet?: string } }
    return body.user.wallet
  }
  t.equal(await who(`Bearer ${one.sessionToken}`), ada)
  t.equal(await who('Bearer wrong'), undefined)
  t.equal(await who('Basic eDp5'), undefined)
})

test('the node refuses every text that is not a token', async (t) => {
  const { openSession, fetch } = await startLoginNode(t)
  const { sessionToken: token } = await openSession(ada)
  const near = fc
    .tuple(fc.nat(token.length - 1), fc.constantFrom('', 'A', '_', '\u00e9', ' ', '=', '%'))
    .map(([at, letter]) => token.slice(0, at) + letter + token.slice(at + 1))
    .filter((text) => text.trim() !== token)
  const latin = fc
    .array(
      fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f),
      { maxLength: 300 },
    )
    .map((codes) => String.fromCharCode(...codes))
  const statuses = new Set<number>()
  await fc.assert(
    fc.asyncProperty(fc.oneof(near, latin, fc.constant(createToken('session'))), async (text) => {
      for (const headers of [{ authorization: `Bearer ${text}` }, { cookie: `session=${text}` }]) {
        const response = await fetch(protectedPath, { headers })
        await response.arrayBuffer()
        statuses.add(response.status)
      }
    }),
    { numRuns: 150 },
  )
  t.ok(
    [...statuses].every((status) => status === 401 || status === 429),
    [...statuses].join(),
  )
  t.equal((await fetch(protectedPath, { headers: { authorization: `Bearer ${token}` } })).status, 200)
})

test('a client that guesses tokens is limited, but its right token is accepted', async (t) => {
  const { openSession, fetch } = await startLoginNode(t)
  const { sessionToken: token } = await openSession(ada)
  const statuses = []
  for (let n = 0; n < 61; n += 1) {
    const response = await fetch('/whoami', {
      headers: { authorization: `Bearer ${createToken('session')}` },
    })
    statuses.push(response.status)
    if (n < 60) continue
    const wait = Number(response.headers.get('retry-after'))
    t.ok(wait >= 1 && wait <= 60, `retry-after: ${wait}`)
    await expectError(t, response, 429, 'TOO_MANY_REQUESTS')
  }
  t.same(statuses, [...Array.from({ length: 60 }, () => 200), 429])
  t.equal((await fetch(protectedPath, { headers: { authorization: `Bearer ${token}` } })).status, 200)
  t.equal((await fetch('/whoami')).status, 200, 'requests without a token are not limited')
})

test('a client with the cookie of an ended session can sign in again', async (t) => {
  const { openSession, as, fetch } = await startLoginNode(t)
  const { sessionToken } = await openSession(ada)
  const headers = { cookie: `session=${sessionToken}` }
  t.equal((await fetch('/whoami', { headers })).headers.get('set-cookie'), null)
  t.equal((await as(sessionToken, '/auth/logout', { method: 'POST' })).status, 200)
  const statuses = new Set<number>()
  for (let n = 0; n < 70; n += 1) {
    const response = await fetch('/whoami', { headers })
    t.strictSame(await response.json(), { user: { authenticated: false } })
    t.match(response.headers.get('set-cookie'), /^session=;.*Path=\/.*Expires=Thu, 01 Jan 1970/)
    statuses.add(response.status)
  }
  t.equal((await fetch('/health', { headers })).status, 200)
  const body = JSON.stringify({ uuid: 'x', address: ada, token: ada })
  const json = { ...headers, 'content-type': 'application/json' }
  t.equal((await fetch('/auth/test', { method: 'POST', headers: json, body })).status, 200)
  t.same([...statuses], [200])

  const guesses = []
  for (let n = 0; n < 61; n += 1) guesses.push((await fetch(protectedPath, { headers })).status)
  t.same(
    guesses,
    [...Array.from({ length: 60 }, () => 401), 429],
    'a route that requires a session limits the client',
  )
})

test('the cookie of another program on the same host does not count as a wrong token', async (t) => {
  const { fetch } = await startLoginNode(t)
  const statuses = new Set<number>()
  for (let n = 0; n < 70; n += 1) {
    const response = await fetch('/whoami', {
      headers: { cookie: 'session=eyJfcGVybWFuZW50Ijp0cnVlfQ.Zx.abc' },
    })
    await response.arrayBuffer()
    statuses.add(response.status)
  }
  t.same([...statuses], [200], 'the client is not limited')
})

test('tokens are unique and have the documented format', async (t) => {
  const tokens = Array.from({ length: 1000 }, () => createToken('session'))
  t.equal(new Set(tokens).size, 1000)
  t.ok(tokens.every(isTokenForm))
  t.match(createToken('api-token'), /^nkt_/)
  for (const text of [
    '',
    'nks_',
    `nkx_${'a'.repeat(43)}`,
    `nks_${'a'.repeat(44)}`,
    `nks_${'a'.repeat(43)}\n`,
  ])
    t.notOk(isTokenForm(text))
})
