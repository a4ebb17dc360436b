import { randomUUID } from 'node:crypto'
import type { SessionRecord, SessionStore } from '@nodekeep/plugin-sdk'
import type { Sql } from '../state/sql.ts'
import { type ProviderLogin, recordLogin } from './logins.ts'
import { endSurplusSessions, insertSession } from './session-table.ts'
import { createToken, tokenHash } from './token.ts'

const dayMs = 24 * 60 * 60 * 1000

/** So many sessions of a user are kept; with one more, the one that was used longest ago ends. */
const sessionsPerUser = 100

export interface SessionWish {
  readonly userUuid: string
  /** What the user sees in the list of sessions. */
  readonly label: string
  readonly expiryDays: number
  /** What it was made for; none when the command line makes it. */
  readonly login?: ProviderLogin
}

export interface ApiTokenWish {
  readonly userUuid: string
  readonly name: string
  readonly scopes: readonly string[]
  /** `null` for a token that doesn't expire. */
  readonly expiryDays: number | null
}

/** A token that was just made, and the record of it. The token appears nowhere else. */
export interface IssuedToken {
  readonly token: string
  readonly record: SessionRecord
}

/** A new session, in whose place others may have ended. */
export interface IssuedSession extends IssuedToken {
  /** How many of the user's sessions were too many. */
  readonly ended: number
}

/** Makes a session of a user and stores it with the login that led to it. It takes a transaction. */
export function issueSession(sql: Sql, { login, ...wish }: SessionWish): IssuedSession {
  const issued = issue({ ...wish, kind: 'session', scopes: null })
  const { record } = issued
  if (login !== undefined) recordLogin(sql, record.userUuid, login, record.createdAt)
  insertSession(sql, record)
  return { ...issued, ended: endSurplusSessions(sql, record, sessionsPerUser) }
}

/** Makes a named token with scopes for a program of a user. */
export async function issueApiToken(sessions: SessionStore, wish: ApiTokenWish): Promise<IssuedToken> {
  const { userUuid, name, scopes, expiryDays } = wish
  const issued = issue({ kind: 'api-token', userUuid, label: name, scopes, expiryDays })
  await sessions.create(issued.record)
  return issued
}

function issue(
  wish: Pick<SessionRecord, 'kind' | 'userUuid' | 'label' | 'scopes'> & {
    readonly expiryDays: number | null
  },
): IssuedToken {
  const { expiryDays, ...given } = wish
  const token = createToken(wish.kind)
  const now = Date.now()
  const record: SessionRecord = {
    ...given,
    tokenHash: tokenHash(token),
    id: randomUUID(),
    createdAt: new Date(now),
    lastUsedAt: new Date(now),
    expiresAt: expiryDays === null ? null : new Date(now + expiryDays * dayMs),
  }
  return { token, record }
}
