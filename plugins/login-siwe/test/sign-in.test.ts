import { siweCredentials } from '@nodekeep/login-siwe/client'
import { type Test, test } from 'tap'
import { type LoginNode, startLoginNode } from './fixtures/login-node.ts'
import { type Changes, credentials, tokenOf, Wallet } from './fixtures/wallet.ts'

const wallet = Wallet.createRandom()
const other = Wallet.createRandom()
const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

async function loginNode(t: Test, section = {}, options = {}): Promise<LoginNode> {
  const login = await startLoginNode(section, options)
  t.after(() => login.node.stop())
  return login
}

/** A time relative to now, in ISO 8601. */
const at = (seconds: number) => new Date(Date.now() + seconds * 1000)
const iso = (seconds: number) => at(seconds).toISOString()

test('a wallet signs in with what the helper for clients makes', async (t) => {
  const login = await loginNode(t)
  const answer = await login.node.fetch('/auth/siwe/nonce')
  t.equal(answer.headers.get('cache-control'), 'no-store')
  const offered = (await answer.json()) as Awaited<ReturnType<LoginNode['nonce']>>
  t.strictSame(Object.keys(offered).sort(), ['chainId', 'domain', 'expires', 'nonce', 'statement', 'uri'])
  t.match(offered, { domain: login.origin.host, uri: login.origin.origin, chainId: 1 })
  t.ok(Date.parse(offered.expires) > Date.now())

  // As browsers' wallets give it.
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

test('what real wallets and clients write differently is taken', async (t) => {
  const login = await loginNode(t)
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
  t.equal(users.size, 1, 'all of them are one user')
})

test('every field that is wrong is refused, one by one', async (t) => {
  const login = await loginNode(t)
  const { host, origin } = login.origin
  const wrong: Record<string, [expected: RegExp, changes: Changes]> = {
    domain: [/not made for/, { fields: { domain: 'evil.example' } }],
    'domain with another port': [/not made for/, { fields: { domain: `${login.origin.hostname}:1` } }],
    'domain as a prefix': [/not made for/, { fields: { domain: `${host}.evil.example` } }],
    'another scheme': [/not made for/, { text: (message) => `ftp://${message}` }],
    uri: [/URI of the message must be/, { fields: { uri: 'https://evil.example' } }],
    'uri with a path': [/URI of the message must be/, { fields: { uri: `${origin}/login` } }],
    version: [/can't be read/, { text: (message) => message.replace('Version: 1', 'Version: 2') }],
    'chain id': [/chain id of the message must be 1/, { fields: { chainId: 137 } }],
    'chain id as another text': [/can't be read/, { text: (m) => m.replace('Chain ID: 1', 'Chain ID: 01') }],
    'nonce made up': [/nonce of the message is unknown/, { fields: { nonce: 'f'.repeat(32) } }],
    'nonce too short': [/can't be read/, { fields: { nonce: 'abc' } }],
    'issued a year ago': [/too old/, { fields: { issuedAt: at(-365 * 86_400) } }],
    'issued six minutes ago': [/too old/, { fields: { issuedAt: at(-360) } }],
    'issued in the future': [/in the future/, { fields: { issuedAt: at(120) } }],
    'issued at no time': [/can't be read/, { text: (m) => m.replace(/Issued At: \S+/, 'Issued At: today') }],
    'issued on the 31st of February': [
      /can't be read|too old|in the future/,
      { text: (m) => m.replace(/Issued At: \S+/, 'Issued At: 2026-02-31T00:00:00Z') },
    ],
    'not valid yet': [/not valid yet/, { text: (message) => `${message}\nNot Before: ${iso(120)}` }],
    expired: [/has expired/, { text: (message) => `${message}\nExpiration Time: ${iso(-1)}` }],
    'another signer': [
      /does not come from the key/,
      { signature: () => other.signMessageSync('something else') },
    ],
    'another address in the message': [
      /not the address in the message/,
      { fields: { address: other.address } },
    ],
    'another address in the body': [/not the address in the message/, { body: { address: other.address } }],
    'another uuid': [/"uuid" is not the account/, { body: { uuid: `eip155:1:${other.address}` } }],
    'a uuid of another chain': [
      /"uuid" is not the account/,
      { body: { uuid: `eip155:137:${wallet.address}` } },
    ],
    'a uuid of another kind': [/CAIP-10/, { body: { uuid: 'someone' } }],
    'a broken checksum in the uuid': [/checksum/, { body: { uuid: `eip155:1:${broken(wallet.address)}` } }],
    'a broken checksum in the address': [/EIP-55/, { body: { address: broken(wallet.address) } }],
    'a broken checksum in the message': [
      /line 2: invalid EIP-55 address/,
      { text: (m) => m.replace(wallet.address, broken(wallet.address)) },
    ],
    'a line added': [/can't be read/, { text: (message) => `${message}\nSomething: else` }],
    'a line break at the end': [/can't be read/, { text: (message) => `${message}\n` }],
    'line breaks of Windows': [/not made for|can't be read/, { text: (m) => m.replaceAll('\n', '\r\n') }],
    'a very long message': [
      /more than 4096/,
      { text: (m) => `${m}\nResources:${'\n- https://a.test'.repeat(300)}` },
    ],
    'a high s': [/does not come from the key/, { signature: highS }],
    'a v of 29': [/does not come from the key/, { signature: (signature) => `${signature.slice(0, -2)}1d` }],
    'a compact signature': [
      /does not come from the key/,
      { signature: (signature) => signature.slice(0, -2) },
    ],
    'a signature too long': [/does not come from the key/, { signature: (signature) => `${signature}00` }],
    'a signature of zeros': [/does not come from the key/, { signature: () => `0x${'00'.repeat(65)}` }],
    'half a byte of signature': [/hexadecimal/, { signature: (signature) => signature.slice(0, -1) }],
    'no signature': [/hexadecimal/, { signature: () => '0x' }],
  }
  for (const [name, [expected, changes]] of Object.entries(wrong)) {
    const { status, message } = await login.signIn(await credentials(await login.nonce(), wallet, changes))
    t.ok(status === 401 || status === 400, `${name} gives ${status}`)
    t.match(message, expected, name)
  }
  const right = await login.signIn(await credentials(await login.nonce(), wallet))
  t.equal(right.status, 200, 'and nothing of it lasts')
})

test('a token that can not be read is refused', async (t) => {
  const login = await loginNode(t)
  const good = await credentials(await login.nonce(), wallet)
  const content = JSON.parse(Buffer.from(good.token, 'base64url').toString())
  const tokens: Record<string, string> = {
    truncated: good.token.slice(0, -10),
    'with padding': `${good.token}==`,
    'plain base64': Buffer.from(JSON.stringify({ ...content, pad: '?>?>' })).toString('base64'),
    'not base64': 'what is this?',
    'plain JSON': JSON.stringify(content),
    'not JSON': Buffer.from('hello').toString('base64url'),
    'not UTF-8': Buffer.from([0x22, 0xff, 0x22]).toString('base64url'),
    null: tokenOf(null),
    'a list': tokenOf([content]),
    'without message': tokenOf({ signature: content.signature }),
    'with a number': tokenOf({ ...content, message: 1 }),
    'in upper case': tokenOf({ ...content, signature: `0x${content.signature.slice(2).toUpperCase()}` }),
    'beyond 16 KiB': tokenOf({ ...content, more: 'x'.repeat(16 * 1024) }),
  }
  for (const [name, token] of Object.entries(tokens)) {
    const { status, code, message } = await login.signIn({ ...good, token })
    t.match({ status, code }, { status: 400, code: 'VALIDATION_ERROR' }, name)
    t.match(message, /^The token can't be read/, name)
  }
  t.equal((await login.signIn({ ...good, token: 'A'.repeat(1024 * 1024) })).status, 413, 'a megabyte of it')
  t.equal((await login.signIn(good)).status, 200, 'none of them used up the nonce')
})

test('a nonce is good for one sign-in, and for its time', async (t) => {
  const login = await loginNode(t, { nonceTtlSeconds: 1 })
  const body = await credentials(await login.nonce(), wallet)
  t.equal((await login.signIn(body)).status, 200)
  t.match(await login.signIn(body), { status: 401, message: /unknown, used or too old/ })

  const contested = await credentials(await login.nonce(), wallet)
  const both = await Promise.all(Array.from({ length: 6 }, () => login.signIn(contested)))
  t.strictSame(both.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401])

  const offered = await login.nonce()
  const late = await credentials(offered, wallet)
  while (Date.now() <= Date.parse(offered.expires)) await new Promise((resolve) => setTimeout(resolve, 50))
  t.match(await login.signIn(late), { status: 401, message: /unknown, used or too old/ })
})

test('a wrong signature uses the nonce up, so that nobody tries twice', async (t) => {
  const login = await loginNode(t)
  const offered = await login.nonce()
  const forged = await credentials(offered, wallet, { signature: () => other.signMessageSync('else') })
  t.equal((await login.signIn(forged)).status, 401)
  t.match(await login.signIn(await credentials(offered, wallet)), { status: 401, message: /unknown, used/ })
})

test('clients that ask too often wait', async (t) => {
  const login = await loginNode(t, { noncesPerMinute: 3 })
  for (let asked = 0; asked < 3; asked += 1) await login.nonce()
  const answer = await login.node.fetch('/auth/siwe/nonce')
  t.equal(answer.status, 429)
  t.ok(Number(answer.headers.get('retry-after')) > 0)
})

test('a message is for the address of the node, not for the Host that a client makes up', async (t) => {
  const login = await loginNode(t, {}, { config: { server: { publicUrl: 'https://node.example.org' } } })
  const offered = await login.nonce()
  t.match(offered, { domain: 'node.example.org', uri: 'https://node.example.org' })
  t.equal((await login.signIn(await credentials(offered, wallet))).status, 200)
})

test('nothing secret of a sign-in is logged at any level', async (t) => {
  const lines: string[] = []
  const onLog = (line: string) => lines.push(line)
  const login = await loginNode(t, {}, { onLog, logLevel: 'trace' })
  const offered = await login.nonce()
  const body = await credentials(offered, wallet, { signature: () => other.signMessageSync('else') })
  t.equal((await login.signIn(body)).status, 401)
  t.equal((await login.signIn({ ...body, token: body.token.slice(1) })).status, 400)
  t.equal((await login.signIn(await credentials(await login.nonce(), wallet))).status, 200)
  const log = lines.join('\n')
  t.notMatch(log, new RegExp(`${offered.nonce}|${body.token.slice(20, 60)}`))
  t.not(lines.length, 0)
})

/** The other signature of the same key over the same text: it has s in the upper half. */
function highS(signature: string): string {
  const s = order - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

/** The address with its first letter in the wrong case. */
function broken(address: string): string {
  return address.replace(/(?<=^0x.*)[a-f]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}
