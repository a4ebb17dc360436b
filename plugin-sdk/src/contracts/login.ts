import { defineRegistry } from '../service.ts'

/** What a client sends to `POST /auth/:provider` (interface, "Authentication endpoints"). */
export interface LoginCredentials {
  /** The user's identifier at the provider. */
  readonly uuid: string
  /** Wallet address as sent by the client: `0x` and 40 hexadecimal digits in any case. */
  readonly address: string
  /** The provider's proof, in a form of its own. */
  readonly token: string
}

/** The circumstances of a sign-in that a provider may have to check its proof against. */
export interface LoginCircumstances {
  /** The origin under which the client reaches the node, as `NodeAddress` tells it. */
  readonly origin: URL
  /** Aborted when the client is gone or the time for a sign-in is over. */
  readonly signal: AbortSignal
}

/** Who the provider vouches for. */
export interface VerifiedLogin {
  /** The identifier at the provider, as verified. */
  readonly uuid: string
  /** The wallet address, as verified: it must be proven, not copied from the request. */
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
   * Verifies the credentials.
   *
   * @throws NodekeepError UNAUTHORIZED when the proof is wrong, used or too old; VALIDATION_ERROR when it cannot
   * be read; UPSTREAM_ERROR, UPSTREAM_TIMEOUT or SERVICE_UNAVAILABLE when somebody else's server failed. Whatever
   * else is thrown is answered with INTERNAL_ERROR, and nobody is signed in.
   */
  verify(credentials: LoginCredentials, circumstances: LoginCircumstances): Promise<VerifiedLogin>
}

/** Login providers, by the name in their path. `logout` and other segments that the kernel uses are taken. */
export const LoginProviders = defineRegistry<LoginProvider>('login-providers', 1)
