import { constants, createPrivateKey, X509Certificate } from 'node:crypto'
import { createSecureContext, type SecureContext } from 'node:tls'

/** A certificate with the chain of its issuers, the certificate first, and its private key, each as PEM. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

/** A certificate that is ready for servers. */
export interface ServerCertificate {
  readonly context: SecureContext
  /** Milliseconds since 1970. */
  readonly validFrom: number
  /** Milliseconds since 1970. */
  readonly validTo: number
  /** SHA-256 of the certificate, in hexadecimal digits with colons. */
  readonly fingerprint: string
  /** Tells whether a name in lower case is among the alternative names of the certificate. */
  covers(name: string): boolean
}

/** Options of every context: the one with which a handshake begins decides for the whole connection. */
const terms = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  // TLS 1.3 has no renegotiation. In TLS 1.2, clients only abuse it.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const

/** Handshakes begin with this context where no certificate is there for clients that name no server. */
export const withoutCertificate = createSecureContext(terms)

/**
 * Makes a certificate ready for servers of TLS 1.2 and 1.3.
 *
 * @throws Error with a sentence for people
 */
export function serverCertificate({ cert, key }: CertificatePair): ServerCertificate {
  const certificate = attempt(() => new X509Certificate(cert), 'The certificate is damaged, or is not PEM.')
  const privateKey = attempt(() => createPrivateKey(key), 'The key is damaged, encrypted, or is not PEM.')
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error('The key does not belong to the first certificate.')
  }
  return {
    context: attempt(
      () => createSecureContext({ ...terms, cert, key }),
      'The certificate, its chain or its key cannot be used.',
    ),
    validFrom: certificate.validFromDate.getTime(),
    validTo: certificate.validToDate.getTime(),
    fingerprint: certificate.fingerprint256,
    covers: (name) => certificate.checkHost(name, { subject: 'never' }) !== undefined,
  }
}

function attempt<T>(work: () => T, sentence: string): T {
  try {
    return work()
  } catch (cause) {
    // The reason of OpenSSL is a few words such as "ee key too small".
    const { reason } = cause as { reason?: unknown }
    throw new Error(typeof reason === 'string' ? `${sentence} (${reason})` : sentence, { cause })
  }
}
