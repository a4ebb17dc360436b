import { randomUUID } from 'node:crypto'
import type { SessionRecord, SessionStore } from '@nodekeep/plugin-sdk'
import type { ProviderLogin } from './logins.ts'
import type { SessionTable } from './session-table.ts'
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

/**
 * Makes a session of a user and stores it.
 *
 * @param end how the sessions that are too many are ended
 */
export async function issueSession(
  sessions: SessionTable,
  { login, ...wish }: SessionWish,
  end: (userUuid: string, id: string) => Promise<unknown> = (...which) => sessions.revoke(...which),
): Promise<IssuedToken> {
  const issued = await issue(sessions, { ...wish, kind: 'session', scopes: null }, login)
  // Only now, so that of several sign-ins at once the last one finds them all.
  const own = (await sessions.listByUser(wish.userUuid)).filter(({ kind }) => kind === 'session')
  const byUse = own.sort((a, b) => b.lastUsedAt.getTime() - a.lastUsedAt.getTime())
  for (const { id } of byUse.slice(sessionsPerUser)) await end(wish.userUuid, id)
  return issued
}

/** Makes a named token with scopes for a program of a user. */
export function issueApiToken(sessions: SessionStore, wish: ApiTokenWish): Promise<IssuedToken> {
  const { userUuid, name, scopes, expiryDays } = wish
  return issue(sessions, { kind: 'api-token', userUuid, label: name, scopes, expiryDays })
}

async function issue(
  sessions: SessionTable,
  wish: Pick<SessionRecord, 'kind' | 'userUuid' | 'label' | 'scopes'> & {
    readonly expiryDays: number | null
  },
  login?: ProviderLogin,
): Promise<IssuedToken> {
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
  await sessions.create(record, login)
  return { token, record }
}
