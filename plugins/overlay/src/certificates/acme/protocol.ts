import type { CertificatePair } from '@nodekeep/plugin-sdk/server-tls'

/** The order of a certificate: the first message to the process that carries it out. */
export interface Order {
  readonly name: string
  readonly directory: string
  /** PEM of the roots for the directory's own address; `null` for those that Node trusts. */
  readonly ca: string | null
  readonly email: string | null
  /** The private key of the account, as PEM. */
  readonly accountKey: string
}

/** The messages of that process. It waits for the message `ready` after `challenge`. The last one is `issued` or `failed`. */
export type FromOrder =
  | { readonly kind: 'challenge'; readonly pair: CertificatePair }
  | ({ readonly kind: 'issued' } & Issued)
  | ({ readonly kind: 'failed'; readonly isAccountClosed: boolean } & OrderProblem)

/** The result of an order. */
export interface Issued {
  readonly pair: CertificatePair
  /** The address of the account, which a CAA record may name (RFC 8657). */
  readonly account: string
}

/** The reason why there is no certificate. */
export interface OrderProblem {
  /** A sentence. It has words of the certificate authority. */
  readonly reason: string
  /** The pause that the authority asked for, in milliseconds; 0 if it asked for none. */
  readonly retryAfterMs: number
}
