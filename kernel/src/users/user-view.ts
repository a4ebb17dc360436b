import { type Static, Type, type User } from '@nodekeep/plugin-sdk'

/** The user in the answers of `GET /whoami` and `POST /auth/:provider` (interface, "User"). */
export const signedInUser = Type.Object({
  uuid: Type.String(),
  username: Type.String(),
  wallet: Type.String(),
  authenticated: Type.Literal(true),
})

/** The answer of `GET /whoami` to a client that is not signed in. */
export const anonymousUser = Type.Object({ authenticated: Type.Literal(false) })

export function viewOf({ uuid, username, wallet }: User): Static<typeof signedInUser> {
  return { uuid, username, wallet, authenticated: true }
}
