import { type Static, Type, type User } from '@nodekeep/plugin-sdk'

/** The user of `GET /whoami` and of the login callback (interface, "User"). */
export const signedInUser = Type.Object({
  uuid: Type.String(),
  username: Type.String(),
  wallet: Type.String(),
  authenticated: Type.Literal(true),
})

/** What `GET /whoami` answers for somebody who isn't signed in. */
export const anonymousUser = Type.Object({ authenticated: Type.Literal(false) })

export function viewOf({ uuid, username, wallet }: User): Static<typeof signedInUser> {
  return { uuid, username, wallet, authenticated: true }
}
