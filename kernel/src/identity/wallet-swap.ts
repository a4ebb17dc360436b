import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Sql } from '../state/sql.ts'

/**
 * Gives a user a wallet within a transaction; another user who has it gets this one's old wallet. Each keeps the
 * uuid, and with it all data, so nothing is lost, and the same exchange takes it back.
 *
 * @param wallet EIP-55 address
 * @returns the uuid of the other user; `null` when nobody had the wallet
 * @throws NodekeepError NOT_FOUND for an unknown user
 */
export function swapWallet(sql: Sql, uuid: string, wallet: string): string | null {
  const set = (who: string, value: string) =>
    sql.run('UPDATE users SET wallet = ? WHERE uuid = ?', value, who)
  const user = sql.get('SELECT wallet FROM users WHERE uuid = ?', uuid)
  if (user === undefined) throw new NodekeepError('NOT_FOUND', 'There is no user with that uuid.')
  const holder = sql.get('SELECT uuid FROM users WHERE wallet = ? AND uuid <> ?', wallet, uuid)
  if (holder === undefined) {
    set(uuid, wallet)
    return null
  }
  const other = String(holder.uuid)
  // No two users may have one wallet, not even between two statements.
  set(other, `exchanged by ${uuid}`)
  set(uuid, wallet)
  set(other, String(user.wallet))
  return other
}
