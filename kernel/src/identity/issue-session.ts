import { randomUUID } from 'node:crypto'
import type { SessionStore } from '@nodekeep/plugin-sdk'
import { createToken, tokenHash } from './token.ts'

const dayMs = 24 * 60 * 60 * 1000

export interface SessionWish {
  readonly userUuid: string
  /** What the user sees in the list of sessions. */
  readonly label: string
  readonly expiryDays: number
}

/**
 * Makes a session and stores it.
 *
 * @returns the token: the only place where it ever appears
 */
export async function issueSession(sessions: SessionStore, wish: SessionWish): Promise<string> {
  const token = createToken('session')
  const now = Date.now()
  await sessions.create({
    tokenHash: tokenHash(token),
    id: randomUUID(),
    userUuid: wish.userUuid,
    kind: 'session',
    label: wish.label,
    scopes: null,
    createdAt: new Date(now),
    lastUsedAt: new Date(now),
    expiresAt: new Date(now + wish.expiryDays * dayMs),
  })
  return token
}
