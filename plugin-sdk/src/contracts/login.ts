import { defineRegistry } from '../service.ts'

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
  /** The origin under which the client reaches the node, as `NodeAddress` tells it. */
  readonly origin: URL
  /** Aborted when the client has left or the time limit of a sign-in is reached. */
  readonly signal: AbortSignal
}

/** The identity that a provider has verified. */
export interface VerifiedLogin {
  /** The identifier at the provider, as verified. */
  readonly uuid: string
  /** The wallet address, as verified. It must be proven, not copied from the request. */
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
   * be read; UPSTREAM_ERROR, UPSTREAM_TIMEOUT or SERVICE_UNAVAILABLE when another server failed. Any other error
   * is answered with INTERNAL_ERROR. No error signs anybody in.
   */
  verify(credentials: LoginCredentials, circumstances: LoginCircumstances): Promise<VerifiedLogin>
}

/** Login providers, by the name in their path. `logout` and other segments that the kernel uses are reserved. */
export const LoginProviders = defineRegistry<LoginProvider>('login-providers', 1)
