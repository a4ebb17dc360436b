/**
 * TLS towards clients: certificates with their keys, from two PEM files or from elsewhere, and what Node's `tls` lacks for servers
 * of many names. Nodes and gateways share it.
 */
export { CertificateFiles, type CertificateFilesOptions } from './server-tls/certificate-files.ts'
export { readPem } from './server-tls/read-pem.ts'
export {
  type CertificatePair,
  type ServerCertificate,
  serverCertificate,
  withoutCertificate,
} from './server-tls/server-certificate.ts'

/** The ALPN protocol of the challenge `tls-alpn-01`, by which certificate authorities check a name (RFC 8737, section 6.2). */
export const challengeProtocol = 'acme-tls/1'

/** The record of the fatal alert `unrecognized_name` (RFC 8446, sections 5.1 and 6), which Node cannot send. */
export const unrecognizedName: Uint8Array = Uint8Array.of(21, 3, 3, 0, 2, 2, 112)
