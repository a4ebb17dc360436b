import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type TLSSocket } from 'node:tls'
import { base58 } from '@scure/base'
import { test } from 'tap'
import { createNodeIdentity } from '../../src/system/node-identity.ts'

/** Returns the id of the node at the other end, as a network reads it. */
function peerOf(socket: TLSSocket): string | undefined {
  const { x } = socket.getPeerX509Certificate()?.publicKey.export({ format: 'jwk' }) ?? {}
  return x && base58.encode(Buffer.from(x, 'base64url'))
}

test('two nodes prove their ids to each other by TLS 1.3', async (t) => {
  const ada = createNodeIdentity(t.testdir({ a: {} }))
  const bob = createNodeIdentity(`${t.testdirName}/a`)
  const terms = { requestCert: true, rejectUnauthorized: false, minVersion: 'TLSv1.3' } as const
  const server = createServer({ ...(await ada.certificate()), ...terms }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')

  const accepted = once(server, 'secureConnection')
  const { port } = server.address() as AddressInfo
  const client = connect({ ...(await bob.certificate()), ...terms, port, host: '127.0.0.1' })
  t.teardown(() => client.destroy())
  await once(client, 'secureConnect')
  const [socket] = (await accepted) as [TLSSocket]

  t.equal(client.getProtocol(), 'TLSv1.3')
  t.equal(peerOf(client), ada.nodeId)
  t.equal(peerOf(socket), bob.nodeId)
  t.not(ada.nodeId, bob.nodeId)
})

test('the certificate is signed by its own key and does not depend on the clock', async (t) => {
  const identity = createNodeIdentity(t.testdir())
  const { cert } = await identity.certificate()
  const certificate = new X509Certificate(cert)
  t.ok(certificate.verify(certificate.publicKey))
  t.equal(certificate.subject, `CN=${identity.nodeId}`)
  t.equal(certificate.validFromDate.toISOString(), '1970-01-01T00:00:00.000Z')
  t.equal(certificate.validToDate.toISOString(), '9999-12-31T23:59:59.000Z')
  t.equal(certificate.ca, false)
})

test('the certificate is made once, and a later start makes the same one', async (t) => {
  const folder = t.testdir()
  const identity = createNodeIdentity(folder)
  const certificate = await identity.certificate()
  t.equal(await identity.certificate(), certificate)
  t.same(await createNodeIdentity(folder).certificate(), certificate)
})

test('without a readable key there is no certificate', async (t) => {
  const folder = t.testdir({ identity: { 'node.key': 'no key' } })
  await t.rejects(createNodeIdentity(folder).certificate(), { message: /Run: chmod 600/ })
})
