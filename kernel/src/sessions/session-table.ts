import type { StateDatabase } from '../state/database.ts'
import type { Row, Sql } from '../state/sql.ts'
import type { SessionRecord, SessionStore } from './session-store.ts'

/** Makes the store of a node's sessions in the kernel's own database. */
export function createSessionTable(database: StateDatabase): SessionStore {
  return {
    create: (record) => database.use((sql) => insertSession(sql, record)),
    find: (tokenHash) =>
      database.use((sql) => {
        const row = sql.get('SELECT * FROM sessions WHERE token_hash = ?', tokenHash)
        return row === undefined ? null : toRecord(row)
      }),
    touch: (tokenHash, lastUsedAt, expiresAt) =>
      database.use((sql) => {
        sql.run(
          'UPDATE sessions SET last_used_at = max(last_used_at, ?), expires_at = max(expires_at, coalesce(?, expires_at)) WHERE token_hash = ?',
          lastUsedAt.getTime(),
          expiresAt?.getTime() ?? null,
          tokenHash,
        )
      }),
    listByUser: (userUuid) =>
      database.use((sql) =>
        sql
          .all('SELECT * FROM sessions WHERE user_uuid = ? ORDER BY created_at DESC, id', userUuid)
          .map(toRecord),
      ),
    revoke: (userUuid, id) =>
      database.use((sql) => sql.run('DELETE FROM sessions WHERE user_uuid = ? AND id = ?', userUuid, id) > 0),
    revokeAll: (userUuid) =>
      database.use((sql) => sql.run('DELETE FROM sessions WHERE user_uuid = ?', userUuid)),
    sweep: (endedBefore) =>
      database.use((sql) => sql.run('DELETE FROM sessions WHERE expires_at < ?', endedBefore.getTime())),
  }
}

export function insertSession(sql: Sql, record: SessionRecord): void {
  sql.run(
    'INSERT INTO sessions (token_hash, id, user_uuid, kind, label, scopes, created_at, last_used_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
    record.tokenHash,
    record.id,
    record.userUuid,
    record.kind,
    record.label,
    record.scopes === null ? null : JSON.stringify(record.scopes),
    record.createdAt.getTime(),
    record.lastUsedAt.getTime(),
    record.expiresAt?.getTime() ?? null,
  )
}

/**
 * Ends the least recently used sessions of a user beyond the limit. API tokens do not count.
 *
 * @param newest the session that stays in any case
 * @returns the number of ended sessions
 */
export function endSurplusSessions(sql: Sql, newest: SessionRecord, limit: number): number {
  return sql.run(
    "DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE user_uuid = ? AND kind = 'session' AND id <> ? ORDER BY last_used_at DESC, created_at DESC LIMIT -1 OFFSET ?)",
    newest.userUuid,
    newest.id,
    limit - 1,
  )
}

function toRecord(row: Row): SessionRecord {
  return {
    tokenHash: row.token_hash as Uint8Array,
    id: String(row.id),
    userUuid: String(row.user_uuid),
    kind: row.kind === 'api-token' ? 'api-token' : 'session',
    label: String(row.label),
    scopes: row.scopes === null ? null : (JSON.parse(String(row.scopes)) as string[]),
    createdAt: new Date(Number(row.created_at)),
    lastUsedAt: new Date(Number(row.last_used_at)),
    expiresAt: row.expires_at === null ? null : new Date(Number(row.expires_at)),
  }
}
