import { defineService } from '../service.ts'

/** A person known to the node. */
export interface User {
  /** A UUIDv4 that the node made. It names the user's data folder and never changes. */
  readonly uuid: string
  /** Unique, of the form `usernamePattern`. At first it is a short form of the wallet address; the user may change it. */
  readonly username: string
  /** Wallet address in EIP-55 mixed case, `0x` and 40 hexadecimal digits. One wallet is one user. */
  readonly wallet: string
  /** Whether this user is the node's owner. At most one user is. */
  readonly owner: boolean
}

/** The user behind one request, with the rights of the request's token. */
export interface AuthenticatedUser extends User {
  /** The id of the session or API token, as in the user's list. It is not a secret. */
  readonly sessionId: string
  /** The name of the API token, or the program that signed in, as it called itself: untrusted text. At most 200 characters. */
  readonly sessionName: string
  /** The scopes of an API token, or `null` for a full session, which has all rights of the user. */
  readonly scopes: readonly string[] | null
}

/** Looks up users, also disabled ones. The requests of a disabled user never reach a plugin. */
export interface UserDirectory {
  get(uuid: string): Promise<User | null>
  /** Finds a user by wallet address. The case of the hexadecimal digits does not matter. */
  findByWallet(wallet: string): Promise<User | null>
  findByUsername(username: string): Promise<User | null>
  /** Returns the owner, or `null` while the node is unclaimed. */
  owner(): Promise<User | null>
  /** Lists all users, in the order of their first sign-in. */
  list(): AsyncIterable<User>
}

/** The kernel's user directory. */
export const UserDirectory = defineService<UserDirectory>('user-directory', 1)
