import { NodekeepError, parseWallet } from '@nodekeep/plugin-sdk'

/** What a username may be; the reason why is in the interface of `User`. */
export const usernamePattern = '^[a-z0-9][a-z0-9_-]{2,29}$'

const dayMs = 24 * 60 * 60 * 1000

/** A change of one user, for one statement, so that nothing comes in between. */
export interface UserChange {
  /** Assignments, with a `?` for each value. */
  readonly set: string
  readonly values: readonly (string | number)[]
  /** What must hold of the user, and the conflict to report where it doesn't. */
  readonly where?: string
  readonly otherwise?: string
  /** The conflict to report when another user has the value. */
  readonly taken?: string
}

/** @throws NodekeepError VALIDATION_ERROR */
export function renaming(username: string): UserChange {
  if (!new RegExp(usernamePattern).test(username)) {
    throw new NodekeepError(
      'VALIDATION_ERROR',
      'A username has 3 to 30 lower case letters, digits, dashes and underscores, and begins with a letter or digit.',
    )
  }
  return { set: 'username = ?', values: [username], taken: `The username "${username}" is taken.` }
}

/** @throws NodekeepError VALIDATION_ERROR */
export function changingWallet(address: string): UserChange {
  const wallet = parseWallet(address)
  if (wallet === null) throw new NodekeepError('VALIDATION_ERROR', `"${address}" is no wallet address.`)
  const taken = `The wallet ${wallet} belongs to another user. With --swap, "nodekeep user set-wallet" gives them this user's old wallet.`
  return { set: 'wallet = ?', values: [wallet], taken }
}

/** Lets the user sign in no more. */
export function disabling(): UserChange {
  return {
    set: 'disabled_at = coalesce(disabled_at, ?)',
    values: [Date.now()],
    where: 'owner IS NULL',
    otherwise: 'The owner cannot be disabled.',
  }
}

/** Takes a deletion back, too. When the time of grace is over, the data may be half gone, and there is no way back. */
export function enabling(): UserChange {
  return {
    set: 'disabled_at = NULL, deletion_due = NULL',
    values: [],
    where: "coalesce(deletion_due > unixepoch('subsec') * 1000, TRUE)",
    otherwise:
      "The time of grace is over, and the removal of this user's data has begun or begins within the hour; it cannot be taken back any more.",
  }
}

/** Disables the user, and has the data removed after so many days. */
export function deleting(graceDays: number): UserChange {
  const now = Date.now()
  return {
    set: 'disabled_at = coalesce(disabled_at, ?), deletion_due = coalesce(deletion_due, ?)',
    values: [now, now + graceDays * dayMs],
    where: 'owner IS NULL',
    otherwise: 'The owner cannot be deleted.',
  }
}

/** Several changes as one: all of it happens or nothing. At most one of them may have a condition, and one be taken. */
export function together(changes: readonly UserChange[]): UserChange {
  const conditional = changes.find(({ where }) => where !== undefined)
  return {
    ...changes.find(({ taken }) => taken !== undefined),
    ...(conditional && { where: conditional.where, otherwise: conditional.otherwise }),
    set: changes.map(({ set }) => set).join(', '),
    values: changes.flatMap(({ values }) => values),
  }
}
