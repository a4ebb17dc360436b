import { usernamePattern } from '@nodekeep/plugin-sdk/user-name'

/** `texts.account.nameHint` tells it. */
const form = new RegExp(usernamePattern)

/** Returns the user name for a name as people write it, such as "papa-bear" for "Papa Bear"; `null` if it has no such form. */
export function userNameOf(typed: string): string | null {
  const plain = typed.normalize('NFD').replace(/\p{M}/gu, '')
  const name = plain.trim().toLowerCase().replace(/\s+/g, '-')
  return form.test(name) ? name : null
}

/** Whether a user has chosen no name yet: the node uses the beginning of the wallet address until then. */
export function isUnnamed({ username, wallet }: { username: string; wallet: string }): boolean {
  return wallet.toLowerCase().startsWith(username)
}
