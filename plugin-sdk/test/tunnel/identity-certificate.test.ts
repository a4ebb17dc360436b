import { X509Certificate } from 'node:crypto'
import { tunnelTls } from '@nodekeep/plugin-sdk/tunnel'
import { test } from 'tap'
import { node } from './fixtures/identities.ts'

test('the certificate is signed by its own key and does not depend on the clock', async (t) => {
  const { cert } = await tunnelTls(node)
  const certificate = new X509Certificate(cert)
  t.ok(certificate.verify(certificate.publicKey))
  t.equal(certificate.subject, `CN=${node.nodeId}`)
  t.equal(certificate.validFromDate.toISOString(), '1970-01-01T00:00:00.000Z')
  t.equal(certificate.validToDate.toISOString(), '9999-12-31T23:59:59.000Z')
  t.equal(certificate.ca, false)
  t.equal((await tunnelTls(node)).cert, cert, 'a later start makes the same one')
})
