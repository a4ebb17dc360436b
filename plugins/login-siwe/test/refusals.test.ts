import t, { test } from 'tap'
import { createLoginNode } from './fixtures/login-node.ts'
import { at, type Changes, credentials, highS, iso, tokenOf, Wallet } from './fixtures/wallet.ts'

const wallet = Wallet.createRandom()
const other = Wallet.createRandom()

// The tests run in parallel, because they wait for the end of a nonce and of a refused client that still sends.
t.jobs = 3

test('Each wrong field is refused', async (t) => {
  const login = await createLoginNode(t)
  const { host, origin } = login.origin
  const wrong: Record<string, [expected: RegExp, changes: Changes]> = {
    domain: [/not made for/, { fields: { domain: 'evil.example' } }],
    'domain with another port': [/not made for/, { fields: { domain: `${login.origin.hostname}:1` } }],
    'domain as a prefix': [/not made for/, { fields: { domain: `${host}.evil.example` } }],
    'another scheme': [/not made for/, { text: (message) => `ftp://${message}` }],
    uri: [/URI of the message must be/, { fields: { uri: 'https://evil.example' } }],
    'uri with a path': [/URI of the message must be/, { fields: { uri: `${origin}/login` } }],
    version: [/cannot be read/, { text: (message) => message.replace('Version: 1', 'Version: 2') }],
    'chain id': [/chain id of the message must be 1/, { fields: { chainId: 137 } }],
    'chain id as another text': [/cannot be read/, { text: (m) => m.replace('Chain ID: 1', 'Chain ID: 01') }],
    'nonce made up': [/nonce of the message is unknown/, { fields: { nonce: 'f'.repeat(32) } }],
    'nonce too short': [/nonce of the message is unknown/, { fields: { nonce: 'abc' } }],
    'no nonce': [/has no nonce/, { text: (m) => m.replace(/\nNonce: .*/, '') }],
    'a nonce in the statement only': [
      /nonce of the message is unknown/,
      { text: (m) => m.replace('Sign in to this', 'Nonce: abc').replace(/\nNonce: .{32}$/m, '') },
    ],
    'issued a year ago': [/too old/, { fields: { issuedAt: at(-365 * 86_400) } }],
    'issued six minutes ago': [/too old/, { fields: { issuedAt: at(-360) } }],
    'issued in the future': [/in the future/, { fields: { issuedAt: at(120) } }],
    'issued at no time': [/cannot be read/, { text: (m) => m.replace(/Issued At: \S+/, 'Issued At: today') }],
    'issued on the 31st of February': [
      /cannot be read|too old|in the future/,
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
    'a line added': [/cannot be read/, { text: (message) => `${message}\nSomething: else` }],
    'a line break at the end': [/cannot be read/, { text: (message) => `${message}\n` }],
    'line breaks of Windows': [/not made for|cannot be read/, { text: (m) => m.replaceAll('\n', '\r\n') }],
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
    t.ok(status === 401 || status === 400, `${name}: status ${status}`)
    t.match(message, expected, name)
  }
  const right = await login.signIn(await credentials(await login.nonce(), wallet))
  t.equal(right.status, 200, 'The refusals have no lasting effect.')
})

test('A token that cannot be read is refused', async (t) => {
  const login = await createLoginNode(t)
  const valid = await credentials(await login.nonce(), wallet)
  const content = JSON.parse(Buffer.from(valid.token, 'base64url').toString())
  const tokens: Record<string, string> = {
    truncated: valid.token.slice(0, -10),
    'with padding': `${valid.token}==`,
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
    const { status, code, message } = await login.signIn({ ...valid, token })
    t.match({ status, code }, { status: 400, code: 'VALIDATION_ERROR' }, name)
    t.match(message, /^The token cannot be read/, name)
  }
  t.equal(
    (await login.signIn({ ...valid, token: 'A'.repeat(1024 * 1024) })).status,
    413,
    'A token of one mebibyte is refused.',
  )
  t.equal((await login.signIn(valid)).status, 200, 'The refused tokens did not use the nonce.')
})

test('A nonce is valid for one sign-in, until it expires', async (t) => {
  const login = await createLoginNode(t, { nonceTtlSeconds: 1 })
  const body = await credentials(await login.nonce(), wallet)
  t.equal((await login.signIn(body)).status, 200)
  t.match(await login.signIn(body), { status: 401, message: /unknown, used, too old/ })

  const contested = await credentials(await login.nonce(), wallet)
  const both = await Promise.all(Array.from({ length: 6 }, () => login.signIn(contested)))
  t.strictSame(both.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401])

  const offered = await login.nonce()
  const late = await credentials(offered, wallet)
  while (Date.now() <= Date.parse(offered.expires)) await new Promise((resolve) => setTimeout(resolve, 50))
  t.match(await login.signIn(late), { status: 401, message: /unknown, used, too old/ })
})

test('A wrong signature does not use the nonce, so that nobody who knows it ends the sign-in of a user', async (t) => {
  const login = await createLoginNode(t)
  const offered = await login.nonce()
  const forged = await credentials(offered, wallet, { signature: () => other.signMessageSync('else') })
  t.equal((await login.signIn(forged)).status, 401)
  t.match(await login.signIn(await credentials(offered, wallet)), { status: 200 })
})

/** Returns the address with its first letter in the wrong case. */
function broken(address: string): string {
  return address.replace(/(?<=^0x.*)[a-f]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
}
