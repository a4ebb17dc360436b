import {
  type LoginCircumstances,
  type LoginCredentials,
  type LoginProvider,
  NodekeepError,
  parseWallet,
  type UserDirectory,
  type VerifiedLogin,
} from '@nodekeep/plugin-sdk'
import type { SignInCodes } from './sign-in-codes.ts'

/**
 * Vouches for the user who made a code. A code is for any address of the node, so it is not bound to the origin.
 */
export class CodeProvider implements LoginProvider {
  readonly #codes: SignInCodes
  readonly #users: UserDirectory

  constructor(codes: SignInCodes, users: UserDirectory) {
    this.#codes = codes
    this.#users = users
  }

  async verify(
    { uuid, address, token }: LoginCredentials,
    { signal }: LoginCircumstances,
  ): Promise<VerifiedLogin> {
    signal.throwIfAborted()
    const user = await accountOf(token, this.#codes, this.#users)
    signal.throwIfAborted()
    if (user.uuid !== uuid || user.address !== parseWallet(address)) {
      throw new NodekeepError(
        'UNAUTHORIZED',
        'The code belongs to another user than the one in "uuid" and "address".',
      )
    }
    if (!this.#codes.use(token)) throw unusable()
    return user
  }
}

/**
 * Returns the `uuid` and the `address` of the user who made a code, as the user is now. It does not use the code.
 *
 * @throws NodekeepError UNAUTHORIZED
 */
export async function accountOf(
  code: string,
  codes: SignInCodes,
  users: UserDirectory,
): Promise<VerifiedLogin> {
  const userUuid = codes.userOf(code)
  const user = userUuid === null ? null : await users.get(userUuid)
  if (user === null) throw unusable()
  return { uuid: user.uuid, address: user.wallet }
}

function unusable(): NodekeepError {
  return new NodekeepError(
    'UNAUTHORIZED',
    'The code is wrong, used or too old. Make a new one where you are signed in.',
  )
}
