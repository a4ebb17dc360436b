import { defineRegistry, lackingMethod } from '../service.ts'

/** The credentials of a client at `POST /auth/:provider` (interface, "Authentication endpoints"). */
export interface LoginCredentials {
  /** The user's identifier at the provider. */
  readonly uuid: string
  /** The wallet address as the client sent it: `0x` and 40 hexadecimal digits in any case. */
  readonly address: string
  /** The provider's proof, in a form of its own. */
  readonly token: string
}

/** The circumstances of a sign-in. A provider may have to check its proof against them. */
export interface LoginCircumstances {
  /** The origin under which the client reaches the node, from `NodeAddress`. */
  readonly origin: URL
  /** Aborted when the client closes the connection or a sign-in reaches its time limit. */
  readonly signal: AbortSignal
}

/** The identity that a provider has verified. */
export interface VerifiedLogin {
  /** The identifier at the provider, as verified. */
  readonly uuid: string
  /**
   * The wallet address, as verified: `0x` and 40 hexadecimal digits in any case. It must be proven, not copied from the
   * request.
   */
  readonly address: string
}

/**
 * Verifies a wallet. The kernel does the rest: admission, the user, the session.
 *
 * The name in the registry is the last segment of `POST /auth/:provider`. Further routes of a provider, such as one
 * for a nonce, belong below `/auth/<name>/`.
 */
export interface LoginProvider {
  /**
   * Verifies the credentials. When the signal has aborted, it vouches for nobody, and rejects with the reason of the signal or with
   * one of the errors below.
   *
   * If a proof can be used for one sign-in only, one of several calls with it succeeds, of calls at the same time and after a restart of
   * the node too. A wrong attempt does not use a proof up: otherwise anybody who knows the nonce of a user could end the user's sign-in.
   * A proof that is short enough to be guessed needs a limit of attempts. What a provider keeps about proofs ends when they have expired.
   *
   * @throws NodekeepError UNAUTHORIZED if the proof is wrong, used or too old; VALIDATION_ERROR if it cannot be read;
   * UPSTREAM_ERROR, UPSTREAM_TIMEOUT or SERVICE_UNAVAILABLE if another server failed. Any other error is answered with
   * INTERNAL_ERROR. An error never signs a client in.
   */
  verify(credentials: LoginCredentials, circumstances: LoginCircumstances): Promise<VerifiedLogin>
}

/** Login providers, by the name in their path. `logout` and other segments that the kernel uses are reserved. */
export const LoginProviders = defineRegistry<LoginProvider>('login-providers', 1, (provider) =>
  lackingMethod(provider, 'verify'),
)
