import { hash } from 'node:crypto'
import { test } from 'tap'
import { expectError, registerPath, startGateway } from './fixtures/registering-gateway.ts'
import { createSigningNode, type SignatureChanges } from './fixtures/signing-node.ts'

const now = () => Math.floor(Date.now() / 1000)

test('a request without the right signature is refused, with the reason', async (t) => {
  const { register, status } = await startGateway(t)
  const [ada, eve] = [createSigningNode(), createSigningNode()]
  const refused: Record<string, [SignatureChanges, RegExp]> = {
    'the key of another node': [{ signer: eve }, /does not belong to this request and to the key/],
    'the name of another node': [{ keyid: `did:overlay:${eve.nodeId}` }, /does not belong/],
    'another method': [{ method: 'PUT' }, /does not belong/],
    'another path': [{ path: '/api/gateway/status/me' }, /does not belong/],
    'another gateway': [{ authority: 'other.test' }, /does not belong/],
    'a changed body': [
      { sentBody: JSON.stringify({ subdomain: 'stolen', endpoint: `overlay://${ada.nodeId}` }) },
      /body is not the one/,
    ],
    'a digest of another body': [
      { digest: `sha-256=:${hash('sha256', 'other', 'base64')}:` },
      /body is not the one/,
    ],
    'one right digest and one wrong digest': [
      { digest: `sha-256=:${hash('sha256', '', 'base64')}:, sha-512=:AAAA:` },
      /body is not the one/,
    ],
    'a digest of an unknown kind': [{ digest: 'md5=:AAAA:' }, /must have a digest by sha-256 or sha-512/],
    'a digest whose kind is a name of JavaScript': [
      { digest: 'constructor=:AAAA:' },
      /must have a digest by sha-256 or sha-512/,
    ],
    'a digest that cannot be read': [{ digest: 'sha-256=:' }, /cannot be read/],
    'no method': [{ components: ['@authority', '@path', 'content-digest'] }, /"@method" is absent/],
    'no authority': [{ components: ['@method', '@path', 'content-digest'] }, /must cover "@target-uri", or/],
    'no path': [{ components: ['@method', '@authority', 'content-digest'] }, /must cover "@target-uri", or/],
    'no digest': [{ components: ['@method', '@authority', '@path'] }, /"content-digest" is absent/],
    'no time': [{ created: null }, /created is absent/],
    'no nonce': [{ nonce: null }, /nonce is absent/],
    'no key': [{ keyid: null }, /keyid is absent/],
    'a short nonce': [{ nonce: 'short' }, /16 to 128 characters/],
    'a long nonce': [{ nonce: 'a'.repeat(129) }, /16 to 128 characters/],
    'a key that is no DID': [{ keyid: ada.nodeId }, /must be the DID of a node/],
    'a DID of another method': [{ keyid: `did:key:${ada.nodeId}` }, /must be the DID of a node/],
    'a key that is too short': [{ keyid: `did:overlay:${'1'.repeat(31)}` }, /must be the DID of a node/],
    'a key that is none': [{ keyid: `did:overlay:${'z'.repeat(44)}` }, /does not belong/],
    'an old signature': [{ created: now() - 301 }, /too old/],
    'a signature of the future': [{ created: now() + 60 }, /in the future/],
    'a signature that has ended': [{ created: now() - 60, expires: now() - 30 }, /has expired/],
    'another algorithm': [{ alg: 'hmac-sha256' }, /hmac-sha256 is not allowed/],
  }
  for (const [name, [changes, reason]] of Object.entries(refused)) {
    const answer = await register(ada, 'me', changes)
    t.equal(answer.status, 401, name)
    await expectError(t, answer, 'UNAUTHORIZED', reason, name)
  }
  t.match(await status('me'), { registered: false })
  t.match(await status('stolen'), { registered: false })
})

test('any signature that covers enough is accepted', async (t) => {
  const { register } = await startGateway(t)
  const ada = createSigningNode()
  const accepted: SignatureChanges[] = [
    {},
    { components: ['@method', '@target-uri', 'content-digest'] },
    { components: ['content-digest', '@path', '@method', 'content-type', '@authority'] },
    { alg: 'ed25519' },
    { created: now() - 280, expires: now() + 10 },
    { created: now() + 5 },
  ]
  for (const changes of accepted) t.equal((await register(ada, 'me', changes)).status, 200)
})

test('a request counts once', async (t) => {
  const { node, release, register, status } = await startGateway(t)
  const ada = createSigningNode()
  const url = new URL(registerPath, node.url)
  const request = ada.signed('POST', url, { subdomain: 'me', endpoint: `overlay://${ada.nodeId}` })
  t.equal((await fetch(url, request)).status, 200)
  t.equal((await release(ada, 'me')).status, 200)
  await expectError(t, await fetch(url, request), 'UNAUTHORIZED', /used before/)
  t.match(await status('me'), { registered: false }, 'a released name does not come back')

  const nonce = 'the-same-nonce-again'
  t.equal((await register(ada, 'me', { nonce })).status, 200)
  await expectError(t, await release(ada, 'me', { nonce }), 'UNAUTHORIZED', /used before/)
  t.equal(
    (await register(createSigningNode(), 'you', { nonce })).status,
    200,
    'nonces of each node are its own',
  )
})

test('a request without any signature is refused', async (t) => {
  const { node } = await startGateway(t)
  const send = (method: string, path: string, headers: Record<string, string>, body?: string) =>
    node.fetch(path, { method, headers, ...(body === undefined ? {} : { body }) })
  const body = JSON.stringify({ subdomain: 'me', endpoint: 'overlay://x' })
  const json = { 'content-type': 'application/json' }
  await expectError(
    t,
    await send('POST', registerPath, json, body),
    'UNAUTHORIZED',
    /\(RFC 9421\)\. Missing field/,
  )
  await expectError(t, await send('DELETE', `${registerPath}/me`, {}), 'UNAUTHORIZED', /Missing field/)
  for (const [input, signature] of [
    ['sig1=("@method"', 'sig1=:AAAA:'],
    ['sig1=("@method")', 'sig1=AAAA'],
    ['sig1=("@method")', 'sig2=:AAAA:'],
    ['sig1=(), sig2=()', 'sig1=:AAAA:, sig2=:AAAA:'],
    ['sig1=("@method" "@method")', 'sig1=:AAAA:'],
    ['sig1=("@nothing")', 'sig1=:AAAA:'],
    ['sig1=("@method";sf)', 'sig1=:AAAA:'],
    ['sig1=("x-absent")', 'sig1=:AAAA:'],
    ['', ''],
  ] as const) {
    const headers = { ...json, 'signature-input': input, signature }
    await expectError(t, await send('POST', registerPath, headers, body), 'UNAUTHORIZED', /RFC 9421/, input)
  }
})

test('a malformed body is refused before anything else', async (t) => {
  const { node } = await startGateway(t)
  const json = { 'content-type': 'application/json' }
  for (const body of [
    '{',
    '[]',
    '{"subdomain":"me"}',
    '{"subdomain":1,"endpoint":"overlay://x"}',
    '{"subdomain":"","endpoint":"overlay://x"}',
    '{"subdomain":"me","endpoint":"overlay://x","more":1}',
    JSON.stringify({ subdomain: 'a'.repeat(64), endpoint: 'overlay://x' }),
    JSON.stringify({ subdomain: 'me', endpoint: `overlay://${'x'.repeat(300)}` }),
  ]) {
    const answer = await node.fetch(registerPath, { method: 'POST', headers: json, body })
    await expectError(t, answer, 'VALIDATION_ERROR', /./, body.slice(0, 50))
  }
  const large = await node.fetch(registerPath, { method: 'POST', headers: json, body: ' '.repeat(5000) })
  await expectError(t, large, 'PAYLOAD_TOO_LARGE', /too large/)
})
