import { defineService } from '../service.ts'

/** A person known to the node. */
export interface User {
  /** UUIDv4 made by the node. It names the user's data folder and never changes. */
  readonly uuid: string
  /** Unique, `[a-z0-9][a-z0-9_-]{2,29}`. A short form of the wallet address at first; the user may change it. */
  readonly username: string
  /** Wallet address in EIP-55 mixed case, `0x` and 40 hexadecimal digits. One wallet is one user. */
  readonly wallet: string
  /** Whether this is the node's owner. At most one user is. */
  readonly owner: boolean
}

/** The user behind one request, with what the request's token may do. */
export interface AuthenticatedUser extends User {
  /** The id of the session or API token, as the user sees it in the list of them. It is no secret. */
  readonly sessionId: string
  /** The scopes of an API token, or `null` for a full session, which may do whatever the user may. */
  readonly scopes: readonly string[] | null
}

/** Looks users up. Disabled users are found too; their requests never reach a plugin. */
export interface UserDirectory {
  get(uuid: string): Promise<User | null>
  /** Finds by wallet address; the case of the hexadecimal digits doesn't matter. */
  findByWallet(wallet: string): Promise<User | null>
  findByUsername(username: string): Promise<User | null>
  /** The owner, or `null` while the node is unclaimed. */
  owner(): Promise<User | null>
  /** All users, in the order in which they first signed in. */
  list(): AsyncIterable<User>
}

/** The kernel's user directory. */
export const Users = defineService<UserDirectory>('users', 1)
