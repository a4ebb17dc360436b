import { type Static, Type } from '@nodekeep/plugin-sdk'
import type { SessionRecord } from './session-table.ts'

/** Days without use after which the listed ones end by themselves. */
export const idleDaysView = Type.Integer({
  description: 'Days without use after which they end by themselves.',
})

/** A time in an answer. */
export const timestamp = Type.String({ format: 'date-time' })

/** A session, as its user sees it. */
export const sessionView = Type.Object({
  id: Type.String(),
  label: Type.String({ description: 'The program that signed in.' }),
  created: timestamp,
  lastUsed: timestamp,
  expires: Type.Union([timestamp, Type.Null()]),
  current: Type.Boolean({ description: 'Whether it is the session of this request.' }),
})

/** An API token, as its user sees it. The token itself is shown only once, when it is made. */
export const apiTokenView = Type.Object({
  id: Type.String(),
  name: Type.String(),
  scopes: Type.Array(Type.String()),
  created: timestamp,
  lastUsed: Type.Union([timestamp, Type.Null()], { description: 'Null if it was never used.' }),
  expires: Type.Union([timestamp, Type.Null()]),
})

export function viewSession(record: SessionRecord, currentId: string | null): Static<typeof sessionView> {
  return { id: record.id, label: record.label, ...times(record), current: record.id === currentId }
}

export function viewApiToken(record: SessionRecord): Static<typeof apiTokenView> {
  const { id, label: name, scopes, createdAt, lastUsedAt } = record
  const isUnused = lastUsedAt.getTime() === createdAt.getTime()
  return { id, name, scopes: [...(scopes ?? [])], ...times(record), ...(isUnused && { lastUsed: null }) }
}

function times({ createdAt, lastUsedAt, expiresAt }: SessionRecord) {
  return {
    created: createdAt.toISOString(),
    lastUsed: lastUsedAt.toISOString(),
    expires: expiresAt?.toISOString() ?? null,
  }
}
