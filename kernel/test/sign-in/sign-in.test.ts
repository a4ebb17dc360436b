import { connect } from 'node:net'
import { definePlugin, LoginProviders, NodekeepError } from '@nodekeep/plugin-sdk'
import t, { type Test, test } from 'tap'
import { expectError } from '../fixtures/expect-error.ts'
import {
  type LoginNode,
  type LoginNodeOptions,
  startLoginNode,
  type Verify,
  verifyAddress,
  wallet,
} from '../fixtures/login-node.ts'

// Two tests run at a time, because some wait for a client or a provider.
t.jobs = 2

const ada = wallet(1)

/** Starts a node whose provider can be replaced. */
async function startNodeWith(
  t: Test,
  options: LoginNodeOptions = {},
): Promise<LoginNode & { verify: Verify }> {
  const started: { verify: Verify } = { verify: verifyAddress }
  const node = await startLoginNode(t, { ...options, verify: (...given) => started.verify(...given) })
  return Object.assign(started, node)
}

test('a sign-in answers with exactly the documented fields and sets the cookies', async (t) => {
  const { signIn, as, fetch } = await startNodeWith(t)
  const response = await signIn(ada.toLowerCase())
  t.equal(response.status, 200)
  t.equal(response.headers.get('cache-control'), 'no-store')
  const body = (await response.json()) as { user: { uuid: string; username: string }; sessionToken: string }
  const { uuid, username } = body.user
  t.strictSame(body, {
    success: true,
    user: { uuid, username, wallet: ada, authenticated: true },
    sessionToken: body.sessionToken,
  })
  t.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  t.equal(username, ada.slice(0, 10).toLowerCase())
  t.match(body.sessionToken, /^nks_[\w-]{43}$/)

  const attributes = `Max-Age=${30 * 86_400}; Path=/; HttpOnly; SameSite=Lax`
  const nodeId = '[1-9A-HJ-NP-Za-km-z]{43,44}'
  const [shared, own, ...others] = response.headers.getSetCookie()
  t.equal(shared, `session=${body.sessionToken}; ${attributes}`)
  t.match(own, new RegExp(`^session-${nodeId}=${body.sessionToken}; ${attributes}$`))
  t.strictSame(others, [])
  const who = { user: { uuid, username, wallet: ada, authenticated: true } }
  t.strictSame(await (await as(body.sessionToken, '/whoami')).json(), who)
  const withCookie = await fetch('/whoami', { headers: { cookie: `a=b; session=${body.sessionToken}; c=d` } })
  t.strictSame(await withCookie.json(), who)
  t.strictSame(await (await fetch('/whoami')).json(), { user: { authenticated: false } })
})

test('the cookies are Secure only for a client with TLS', async (t) => {
  const secure = async (server: object, headers: Record<string, string> = {}) => {
    const { send } = await startNodeWith(t, { config: { server } })
    const proof = { uuid: 'x', address: ada, token: ada }
    const response = await send('POST', '/auth/test', proof, headers)
    t.equal(response.status, 200)
    const [shared = '', own = ''] = response.headers.getSetCookie()
    const isSecure = /; Secure/.test(shared)
    for (const cookie of [shared, own]) {
      t.notMatch(cookie, /Domain/i)
      t.equal(/; Secure/.test(cookie), isSecure)
      // Browsers refuse a cookie with this prefix that is not Secure.
      t.equal(cookie.startsWith('__Host-'), isSecure && cookie === own)
    }
    return isSecure
  }
  const name = 'node.example.org'
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': name }
  const trustedProxies = ['127.0.0.1']
  t.equal(await secure({ publicUrl: `https://${name}`, trustedProxies }, { 'x-forwarded-host': name }), true)
  t.equal(await secure({ publicUrl: `https://${name}`, trustedProxies }), false, 'at home')
  t.equal(await secure({ publicUrl: `http://${name}`, trustedProxies }, { 'x-forwarded-host': name }), false)
  t.equal(await secure({ hostnames: [name], trustedProxies }, forwarded), true)
  t.equal(
    await secure({ trustedProxies: ['10.0.0.1'] }, forwarded),
    false,
    'the header is not from a trusted proxy',
  )
  t.equal(await secure({}, forwarded), false)
})

test('the error about an unknown provider names the known ones', async (t) => {
  const { send } = await startNodeWith(t)
  const proof = { uuid: 'x', address: ada, token: ada }
  for (const name of ['siwe', 'constructor', '__proto__', 'TEST', '%00', 'x'.repeat(500)]) {
    const message = await expectError(t, await send('POST', `/auth/${name}`, proof), 404, 'NOT_FOUND')
    t.match(message, /Active providers: test\.$/)
  }
  const long = await send('POST', `/auth/${'x'.repeat(2000)}?token=${ada}`, proof)
  t.notMatch(
    await expectError(t, long, 400, 'VALIDATION_ERROR'),
    /xxx|0x/,
    'the error does not repeat the URL',
  )
  await expectError(t, await send('POST', '/auth/logout', proof), 401, 'UNAUTHORIZED')
})

test('a provider cannot have a name that the kernel uses', async (t) => {
  const thief = definePlugin({
    id: 'thief',
    contributes: { logins: LoginProviders },
    setup: ({ logins }) => {
      logins.add('logout', { verify: verifyAddress })
    },
  })
  const optional = { plugins: { thief: { required: false } } }
  const { node } = await startLoginNode(t, { plugins: [thief], config: optional })
  const description = node.plugins().find(({ id }) => id === 'thief')
  t.match(description, { state: 'failed', reason: /The name "logout" is reserved/ })
})

test('no error of a provider signs a user in', async (t) => {
  const started = await startNodeWith(t)
  const { signIn, log } = started
  const internal = [
    new Error('secret cause'),
    'a text',
    null,
    undefined,
    7,
    { status: 200 },
    Object.create(null),
  ]
  for (const thrown of internal) {
    started.verify = async () => {
      throw thrown
    }
    const response = await signIn(ada)
    t.equal(response.headers.get('set-cookie'), null)
    t.notMatch(await expectError(t, response, 500, 'INTERNAL_ERROR'), /secret cause/)
  }
  started.verify = () => {
    throw new Error('at once')
  }
  await expectError(t, await signIn(ada), 500, 'INTERNAL_ERROR')
  t.match(log.join(''), /secret cause/, 'the log has it')

  const own = [
    ['UNAUTHORIZED', 401],
    ['VALIDATION_ERROR', 400],
    ['UPSTREAM_ERROR', 502],
    ['UPSTREAM_TIMEOUT', 504],
    ['SERVICE_UNAVAILABLE', 503],
  ] as const
  for (const [code, status] of own) {
    started.verify = async () => {
      throw new NodekeepError(code, 'No.', { headers: { 'retry-after': '9' } })
    }
    const response = await signIn(ada)
    t.equal(response.headers.get('retry-after'), '9')
    t.equal(await expectError(t, response, status, code), 'No.')
  }
  started.verify = verifyAddress
  t.equal((await signIn(ada)).status, 200, 'the next sign-in works')
})

test('a provider must return the wallet of the request in the right format', async (t) => {
  const started = await startNodeWith(t)
  const { signIn, node } = started
  const answers: [unknown, number, string][] = [
    [{ uuid: 'x', address: wallet(2) }, 401, 'UNAUTHORIZED'],
    [{ uuid: 'x', address: '' }, 401, 'UNAUTHORIZED'],
    [{ uuid: 'x', address: `${ada} ` }, 401, 'UNAUTHORIZED'],
    [undefined, 500, 'INTERNAL_ERROR'],
    [null, 500, 'INTERNAL_ERROR'],
    [true, 500, 'INTERNAL_ERROR'],
    [ada, 500, 'INTERNAL_ERROR'],
    [{}, 500, 'INTERNAL_ERROR'],
    [{ address: ada }, 500, 'INTERNAL_ERROR'],
    [{ uuid: '', address: ada }, 500, 'INTERNAL_ERROR'],
    [{ uuid: 7, address: ada }, 500, 'INTERNAL_ERROR'],
    [{ uuid: 'x', address: [ada] }, 500, 'INTERNAL_ERROR'],
  ]
  for (const [answer, status, code] of answers) {
    started.verify = async () => answer as never
    await expectError(t, await signIn(ada), status, code)
  }
  t.equal(await node.accounts.findByWallet(ada), null, 'the node creates no user')
})

test('a provider that hangs times out and its signal is aborted', async (t) => {
  const started = await startNodeWith(t, { config: { auth: { signInTimeoutMs: 100 } } })
  let signal: AbortSignal | undefined
  started.verify = (_credentials, circumstances) => {
    signal = circumstances.signal
    return new Promise(() => {})
  }
  await expectError(t, await started.signIn(ada), 504, 'UPSTREAM_TIMEOUT')
  t.equal(signal?.aborted, true)
  started.verify = verifyAddress
  t.equal((await started.signIn(ada)).status, 200)
  t.equal(signal?.aborted, true)
})

test('a client that disconnects cancels its sign-in', async (t) => {
  const started = await startNodeWith(t)
  const { node, log } = started
  const asked = Promise.withResolvers<AbortSignal>()
  const answered = Promise.withResolvers<void>()
  started.verify = async ({ uuid, address }, { signal }) => {
    asked.resolve(signal)
    await answered.promise
    return { uuid, address }
  }
  const body = JSON.stringify({ uuid: 'x', address: ada, token: ada })
  const socket = connect(Number(node.url.port), node.url.hostname)
  socket.write(
    `POST /auth/test HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  const signal = await asked.promise
  t.equal(signal.aborted, false)
  const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
  socket.destroy()
  await aborted
  t.match(signal.reason, { message: 'The client left before it was answered.' })
  answered.resolve()
  started.verify = verifyAddress
  await started.openSession(wallet(2))
  t.equal(await node.accounts.findByWallet(ada), null, 'the node creates no user')
  t.notMatch(log.join(''), /"level":"error"/, 'the log has no error')
})

test('a body with a wrong format is refused before the call of the provider', async (t) => {
  const started = await startNodeWith(t)
  const { send, fetch } = started
  let asked = 0
  started.verify = (...given) => {
    asked += 1
    return verifyAddress(...given)
  }
  const good = { uuid: 'x', address: ada, token: ada }
  const wrong = [
    null,
    [],
    [good],
    'text',
    7,
    {},
    { ...good, uuid: undefined },
    { ...good, uuid: '' },
    { ...good, uuid: 7 },
    { ...good, uuid: 'x'.repeat(513) },
    { ...good, address: undefined },
    { ...good, address: null },
    { ...good, address: [ada] },
    { ...good, address: ada.slice(2) },
    { ...good, address: `${ada}0` },
    { ...good, address: `0X${ada.slice(2)}` },
    { ...good, address: ada.replace(/[a-f]/, (digit) => digit.toUpperCase()) },
    { ...good, token: undefined },
    { ...good, token: '' },
    { ...good, token: { a: 1 } },
    { ...good, claim: 7 },
    { ...good, claim: null },
    { ...good, claim: 'x'.repeat(65) },
  ]
  for (const body of wrong)
    await expectError(t, await send('POST', '/auth/test', body), 400, 'VALIDATION_ERROR')

  const post = (contentType: string, body: string) =>
    fetch('/auth/test', { method: 'POST', headers: { 'content-type': contentType }, body })
  await expectError(t, await post('application/json', '{"uuid":'), 400, 'VALIDATION_ERROR')
  await expectError(t, await post('application/json', ''), 400, 'VALIDATION_ERROR')
  const poisoned = `{"__proto__":{"admin":1},"uuid":"x","address":"${ada}","token":"${ada}"}`
  await expectError(t, await post('application/json', poisoned), 400, 'VALIDATION_ERROR')
  await expectError(t, await post('text/plain', JSON.stringify(good)), 415, 'UNSUPPORTED_MEDIA_TYPE')
  const form = 'application/x-www-form-urlencoded'
  await expectError(t, await post(form, `uuid=x&address=${ada}&token=${ada}`), 415, 'UNSUPPORTED_MEDIA_TYPE')
  const large = JSON.stringify({ ...good, token: 'x'.repeat(1024 * 1024) })
  await expectError(t, await post('application/json', large), 413, 'PAYLOAD_TOO_LARGE')
  t.equal(asked, 0)
})
