import { setClock } from '@nodekeep/kernel/testing'
import { siweCredentials } from '@nodekeep/login-siwe/client'
import { test } from 'tap'
import { createLoginNode, type LoginNode } from './fixtures/login-node.ts'
import { at, type Changes, credentials, iso, Wallet } from './fixtures/wallet.ts'

const wallet = Wallet.createRandom()
const other = Wallet.createRandom()

test('A wallet signs in with the credentials of the client helper', async (t) => {
  const login = await createLoginNode(t)
  const answer = await login.node.fetch('/auth/siwe/nonce')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const offered = (await answer.json()) as Awaited<ReturnType<LoginNode['nonce']>>
  t.strictSame(Object.keys(offered).sort(), [
    'chainId',
    'domain',
    'expires',
    'issuedAt',
    'nonce',
    'statement',
    'uri',
  ])
  t.match(offered, { domain: login.origin.host, uri: login.origin.origin, chainId: 1 })
  t.ok(Date.parse(offered.expires) > Date.now())

  // Wallets in browsers return this form.
  const address = wallet.address.toLowerCase()
  const body = await siweCredentials(offered, address, (message) => wallet.signMessage(message))
  const signedIn = await login.node.fetch('/auth/siwe', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  t.equal(signedIn.status, 200)
  const { success, user, sessionToken } = (await signedIn.json()) as Record<string, never>
  t.match({ success, user }, { success: true, user: { wallet: wallet.address } })
  const whoami = await login.node.fetch('/whoami', { headers: { authorization: `Bearer ${sessionToken}` } })
  t.match(await whoami.json(), { user: { authenticated: true, wallet: wallet.address } })
})

test('The variants of real wallets and clients are accepted', async (t) => {
  const login = await createLoginNode(t)
  const { protocol, host } = login.origin
  const variants: Record<string, Changes> = {
    'v of 0 or 1': { signature: (signature) => signature.replace(/1b$/, '00').replace(/1c$/, '01') },
    'a scheme before the domain': { text: (message) => `${protocol}//${message}` },
    'no statement': { text: (message) => message.replace(/\n\n.*\n\n/, '\n\n\n') },
    'another statement': { text: (message) => message.replace(/\n\n.*\n\n/, '\n\nLet me in\n\n') },
    'resources and a request id': { text: (m) => `${m}\nRequest ID: 7\nResources:\n- https://${host}/a` },
    'an expiration to come': { text: (message) => `${message}\nExpiration Time: ${iso(60)}` },
    'a not-before that is over': { text: (message) => `${message}\nNot Before: ${iso(-60)}` },
    'a time of another zone': {
      text: (m) => m.replace(/Issued At: .*/, `Issued At: ${iso(7200 - 2).replace('Z', '+02:00')}`),
    },
    'a clock that is a little ahead': { fields: { issuedAt: at(20) } },
    'an address without checksum': { body: { address: wallet.address.toLowerCase() } },
    'a uuid without checksum': { body: { uuid: `eip155:1:${wallet.address.toLowerCase()}` } },
  }
  const users = new Set<string>()
  for (const [name, changes] of Object.entries(variants)) {
    const { status, message, uuid } = await login.signIn(
      await credentials(await login.nonce(), wallet, changes),
    )
    t.equal(status, 200, `${name}: ${message}`)
    users.add(uuid)
  }
  t.equal(users.size, 1, 'All variants are one user.')
})

test('A wallet signs in where the clock of the node or of the device is wrong', async (t) => {
  t.teardown(() => setClock(null))
  const login = await createLoginNode(t)
  for (const [node, device] of [
    [new Date(60_000), null],
    [new Date('2099-01-01'), null],
    [null, new Date(60_000)],
  ] as const) {
    setClock(node)
    const [offered, another] = [await login.nonce(), await login.nonce()]
    setClock(device)
    const issuedAt = new Date()
    const sign = (message: string) => wallet.signMessage(message)
    const good = await siweCredentials(offered, wallet.address, sign)
    const wrong = await siweCredentials(another, wallet.address, sign, { issuedAt })
    setClock(node)
    t.equal((await login.signIn(good)).status, 200)
    const { status, message } = await login.signIn(wrong)
    t.equal(status, 401)
    t.match(message, `it is of ${issuedAt.toISOString()}, and the clock of the node says`)
    t.match(message, `says ${new Date().toISOString().slice(0, 10)}`)
    t.match(message, 'check the clock of the node and that of your device')
  }
})

test('A statement may look like another field', async (t) => {
  const login = await createLoginNode(t)
  const fields = { statement: 'Nonce: 00000000000000000000000000000000' }
  t.equal((await login.signIn(await credentials(await login.nonce(), wallet, { fields }))).status, 200)
})

test('A client that requests too many nonces must wait', async (t) => {
  const login = await createLoginNode(t, { noncesPerMinute: 3 })
  for (let image = 0; image < 5; image += 1) {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }
    const refused = await login.node.fetch('/auth/siwe/nonce', { headers })
    t.equal(refused.status, 403, 'Requests from a page of another origin do not count.')
  }
  for (let asked = 0; asked < 3; asked += 1) await login.nonce()
  const answer = await login.node.fetch('/auth/siwe/nonce')
  t.equal(answer.status, 429)
  t.ok(Number(answer.headers.get('retry-after')) > 0)
})

test('A node has several origins, and a sign-in belongs to the one that it came by', async (t) => {
  const server = {
    publicUrl: ['https://node.example.org', 'https://me.example.net'],
    trustedProxies: ['127.0.0.1'],
  }
  const login = await createLoginNode(t, {}, { config: { server } })
  const through = (host: string) => ({
    'x-forwarded-for': '203.0.113.7',
    'x-forwarded-host': host,
    'x-forwarded-proto': 'https',
  })
  const [outside, elsewhere] = [through('node.example.org'), through('me.example.net')]

  const atHome = await login.nonce()
  t.match(atHome, { domain: login.origin.host, uri: login.origin.origin })
  const fromOutside = await login.nonce(outside)
  t.match(fromOutside, { domain: 'node.example.org', uri: 'https://node.example.org' })

  const foreign = await credentials(await login.nonce(elsewhere), wallet)
  t.equal((await login.signIn(foreign, outside)).status, 401, 'a message for another origin of the node')
  const borrowed = { ...fromOutside, nonce: (await login.nonce(elsewhere)).nonce }
  t.equal(
    (await login.signIn(await credentials(borrowed, wallet), outside)).status,
    401,
    'a nonce of another origin',
  )

  const there = await login.signIn(await credentials(fromOutside, wallet), outside)
  t.match(there, { status: 200, cookie: /; Secure/ })
  const here = await login.signIn(await credentials(atHome, wallet))
  t.equal(here.status, 200)
  t.notMatch(here.cookie, /Secure/, 'a browser would not keep it without TLS')
  t.equal(here.uuid, there.uuid)

  for (const host of ['127.0.0.1', 'localhost:4200', 'evil.example']) {
    t.match(await login.nonce(through(host)), { code: 'VALIDATION_ERROR' }, `${host} through the proxy`)
  }
})

test('No secret of a sign-in is logged at any level', async (t) => {
  const lines: string[] = []
  const onLog = (line: string) => lines.push(line)
  const login = await createLoginNode(t, {}, { onLog, logLevel: 'trace' })
  const offered = await login.nonce()
  const body = await credentials(offered, wallet, { signature: () => other.signMessageSync('else') })
  t.equal((await login.signIn(body)).status, 401)
  t.equal((await login.signIn({ ...body, token: body.token.slice(1) })).status, 400)
  t.equal((await login.signIn(await credentials(await login.nonce(), wallet))).status, 200)
  const log = lines.join('\n')
  t.notMatch(log, new RegExp(`${offered.nonce}|${body.token.slice(20, 60)}`))
  t.not(lines.length, 0)
})
