import { randomUUID } from 'node:crypto'
import type { Sql } from '../state/sql.ts'
import type { SessionRecord, SessionTable } from './session-table.ts'
import { endSurplusSessions, insertSession } from './session-table.ts'
import { createToken, tokenHash } from './token.ts'

/** Sessions that a user may have. A new one beyond the limit ends the one that was used longest ago. */
const sessionsPerUser = 100

const dayMs = 24 * 60 * 60 * 1000

/** The identity of a user at a login provider. */
interface ProviderLogin {
  readonly provider: string
  /** The user's identifier at the provider. */
  readonly providerUuid: string
}

export interface NewSession {
  readonly userUuid: string
  /** The name that the user sees in the list of sessions. */
  readonly label: string
  readonly expiryDays: number
  /** The sign-in behind the session; none when the command line makes it. */
  readonly login?: ProviderLogin
}

interface NewApiToken {
  readonly userUuid: string
  readonly name: string
  readonly scopes: readonly string[]
  /** `null` for a token that does not expire. */
  readonly expiryDays: number | null
}

/** A new token and its record. The token is stored nowhere. */
export interface IssuedToken {
  readonly token: string
  readonly record: SessionRecord
}

/** A new session. */
export interface IssuedSession extends IssuedToken {
  /** The number of the user's older sessions that were ended because of the limit. */
  readonly ended: number
}

/** Makes a session of a user and stores it with the login behind it. Call it in a transaction. */
export function issueSession(sql: Sql, { login, ...session }: NewSession): IssuedSession {
  const issued = issue({ ...session, kind: 'session', scopes: null })
  const { record } = issued
  if (login !== undefined) recordLogin(sql, record.userUuid, login, record.createdAt)
  insertSession(sql, record)
  return { ...issued, ended: endSurplusSessions(sql, record, sessionsPerUser) }
}

/** Makes a named token with scopes, for a program of a user. */
export async function issueApiToken(sessions: SessionTable, newToken: NewApiToken): Promise<IssuedToken> {
  const { userUuid, name, scopes, expiryDays } = newToken
  const issued = issue({ kind: 'api-token', userUuid, label: name, scopes, expiryDays })
  await sessions.create(issued.record)
  return issued
}

/** Says in a sentence for people what the name of an API token may be. */
export const tokenNameRule =
  'A name has 1 to 100 characters. Control characters and characters that change the direction of writing are not allowed.'

/** Tells whether a text may be the name of an API token. Names appear in terminals, which must not interpret them. */
export function isTokenName(text: string): boolean {
  return /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029]{1,100}$/u.test(text)
}

function issue(
  given: Pick<SessionRecord, 'kind' | 'userUuid' | 'label' | 'scopes'> & {
    readonly expiryDays: number | null
  },
): IssuedToken {
  const { expiryDays, ...fields } = given
  const token = createToken(fields.kind)
  const now = Date.now()
  const record: SessionRecord = {
    ...fields,
    tokenHash: tokenHash(token),
    id: randomUUID(),
    createdAt: new Date(now),
    lastUsedAt: new Date(now),
    expiresAt: expiryDays === null ? null : new Date(now + expiryDays * dayMs),
  }
  return { token, record }
}

/** Records the first and the latest sign-in of a user with each of their identities. */
function recordLogin(sql: Sql, userUuid: string, { provider, providerUuid }: ProviderLogin, at: Date): void {
  const time = at.getTime()
  sql.run(
    'INSERT INTO logins (provider, provider_uuid, user_uuid, first_at, last_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET last_at = excluded.last_at',
    provider,
    providerUuid,
    userUuid,
    time,
    time,
  )
}
