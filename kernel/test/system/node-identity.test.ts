import { createPrivateKey, createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { definePlugin, NodeIdentity } from '@nodekeep/plugin-sdk'
import { type Test, test } from 'tap'
import { createNodeIdentity } from '../../src/system/node-identity.ts'
import { createTestNode } from '../../src/testing/index.ts'

const keyOf = (folder: string) => join(folder, 'identity', 'node.key')

/** A plugin that proves who the node is, as one of a network would. */
function prover(onSetup: (identity: NodeIdentity) => void) {
  return definePlugin({
    id: 'prover',
    requires: { identity: NodeIdentity },
    setup: ({ identity }) => onSetup(identity),
  })
}

test('the node has one identity, whatever plugin asks and however often it starts', async (t) => {
  const dataFolder = t.testdir()
  const message = Buffer.from('prove: 7')
  const ids: string[] = []
  for (const start of ['first', 'second']) {
    const node = await createTestNode({
      dataFolder,
      plugins: [
        prover((identity) => {
          ids.push(identity.nodeId)
          t.equal(identity.did, `did:overlay:${identity.nodeId}`)
          t.equal(identity.publicKey.length, 32)
          const x = Buffer.from(identity.publicKey).toString('base64url')
          const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
          const signature = identity.sign(message)
          t.equal(signature.length, 64)
          t.ok(verify(null, message, key, signature), start)
          t.notOk(verify(null, Buffer.from('prove: 8'), key, signature))
        }),
      ],
    })
    await node.stop()
  }
  t.equal(ids[0], ids[1])
  t.match(ids[0], /^[1-9A-HJ-NP-Za-km-z]{43,44}$/, 'base58')
  t.equal(statSync(keyOf(dataFolder)).mode & 0o777, 0o600)
  t.equal(statSync(join(dataFolder, 'identity')).mode & 0o777, 0o700)
  t.same(readdirSync(join(dataFolder, 'identity')), ['node.key'])
})

test('the key is PKCS#8, and its id is that of the test vector', async (t) => {
  const folder = t.testdir({ identity: {} })
  // RFC 8032, section 7.1, test 1. The id was computed by hand.
  const seed = '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'
  const der = Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex')
  const pem = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({
    type: 'pkcs8',
    format: 'pem',
  })
  writeFileSync(keyOf(folder), pem, { mode: 0o600 })
  const identity = createNodeIdentity(folder)
  t.equal(
    Buffer.from(identity.publicKey).toString('hex'),
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
  )
  t.equal(identity.nodeId, 'FVen3X669xLzsi6N2V91DoiyzHzg1uAgqiT8jZ9nS96Z')
  t.equal(identity.privateKey(), pem)
  t.equal(
    Buffer.from(identity.sign(new Uint8Array())).toString('hex'),
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  )
})

test('nothing is made before the first use', async (t) => {
  const folder = t.testdir()
  const identity = createNodeIdentity(folder)
  t.notOk(existsSync(join(folder, 'identity')))
  t.ok(identity.nodeId)
  t.ok(existsSync(keyOf(folder)))
})

test('a key that a crash left unfinished is made anew', async (t) => {
  const folder = t.testdir({ identity: { 'node.key.new': '-----BEGIN' } })
  t.ok(createNodeIdentity(folder).nodeId)
  t.same(readdirSync(join(folder, 'identity')), ['node.key'])
})

const damaged: Record<string, string> = {
  'an empty file': '',
  'half a key': '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2Vw',
  'another kind of key': generateKeyPairSync('rsa', {
    modulusLength: 1024,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  }).privateKey,
}
for (const [name, content] of Object.entries(damaged)) {
  test(`${name} is an error, and is never replaced`, async (t) => {
    const folder = t.testdir({ identity: { 'node.key': content } })
    chmodSync(keyOf(folder), 0o600)
    const message = `The identity of the node is damaged: ${keyOf(folder)} is not an Ed25519 key. Restore the file from a backup. To begin with a new identity, move it away.`
    for (const _ of [1, 2]) t.throws(() => createNodeIdentity(folder).nodeId, { message })
    t.equal(readFileSync(keyOf(folder), 'utf8'), content)
  })
}

test('a key that other accounts may read is an error', { skip: process.platform === 'win32' }, async (t) => {
  const folder = t.testdir()
  const { nodeId } = createNodeIdentity(folder)
  chmodSync(keyOf(folder), 0o640)
  t.throws(() => createNodeIdentity(folder).sign(new Uint8Array()), { message: /chmod 600/ })
  t.throws(() => createNodeIdentity(folder).privateKey(), { message: /chmod 600/ })
  chmodSync(keyOf(folder), 0o600)
  t.equal(createNodeIdentity(folder).nodeId, nodeId)

  renameSync(keyOf(folder), join(folder, 'elsewhere'))
  symlinkSync(join(folder, 'elsewhere'), keyOf(folder))
  t.throws(() => createNodeIdentity(folder).nodeId, { message: /cannot be read: it is a link/ })
})

test('a plugin that needs a damaged identity fails with the reason, and the node starts', async (t: Test) => {
  const dataFolder = t.testdir()
  mkdirSync(join(dataFolder, 'identity'))
  writeFileSync(keyOf(dataFolder), 'no key', { mode: 0o600 })
  const node = await createTestNode({
    dataFolder,
    plugins: [prover((identity) => void identity.nodeId)],
    config: { plugins: { prover: { required: false } } },
  })
  t.teardown(() => node.stop())
  t.match(node.plugins(), [{ id: 'prover', state: 'failed', reason: /identity of the node is damaged/ }])
})
