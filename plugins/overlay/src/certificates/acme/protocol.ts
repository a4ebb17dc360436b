import type { CertificatePair } from '../server-certificate.ts'

/** The order of a certificate: the only message to the process that carries it out, until `ready`. */
export interface Order {
  readonly name: string
  readonly directory: string
  /** PEM of the roots for the directory's own address; `null` for those that Node trusts. */
  readonly ca: string | null
  readonly email: string | null
  /** The private key of the account, as PEM. */
  readonly accountKey: string
}

/** Messages of that process. The last one is `issued` or `failed`. It waits for `ready` after `challenge`. */
export type FromOrder =
  | { readonly kind: 'challenge'; readonly pair: CertificatePair }
  | { readonly kind: 'issued'; readonly pair: CertificatePair }
  | ({ readonly kind: 'failed' } & OrderProblem)

/** The reason why there is no certificate. */
export interface OrderProblem {
  /** A sentence. It has words of the certificate authority. */
  readonly reason: string
  /** The pause that the authority asked for, in milliseconds; 0 if it asked for none. */
  readonly retryAfterMs: number
}
