import type { Sql } from '../state/sql.ts'

/** As whom a login provider knows a user. */
export interface ProviderLogin {
  readonly provider: string
  /** The user's identifier at the provider. */
  readonly providerUuid: string
}

/** Keeps which identity of which provider a user has signed in with, and when last. */
export function recordLogin(sql: Sql, userUuid: string, login: ProviderLogin, at: Date): void {
  sql.run(
    'INSERT INTO logins (provider, provider_uuid, user_uuid, first_at, last_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET last_at = excluded.last_at',
    login.provider,
    login.providerUuid,
    userUuid,
    at.getTime(),
    at.getTime(),
  )
}
