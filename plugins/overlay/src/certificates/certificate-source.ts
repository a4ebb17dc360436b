import type { SecureContext } from 'node:tls'

/** The certificates of the node, as the connections and the health report need them. */
export interface CertificateSource {
  /** @param name in lower case; `null` for a client that named none */
  find(name: string | null): SecureContext | undefined
  /** Returns the certificate that proves to a certificate authority that this node has the name. */
  findChallenge(name: string): SecureContext | undefined
  /** Sets the names under which clients can reach the node now, all others are over. */
  want(names: readonly string[]): void
  health(): CertificateHealth
  close(): Promise<void>
}

/** The state of the certificates. */
export interface CertificateHealth {
  readonly ok: boolean
  /** One word for the health report, such as `certificate-pending`. */
  readonly state: string
  /** A sentence for people: what is wrong, and what happens next. `null` if nothing is wrong. */
  readonly message: string | null
}

/** The state where nothing is wrong. */
export const healthy: CertificateHealth = { ok: true, state: 'certificate-valid', message: null }
