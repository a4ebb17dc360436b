import type { SchemaStep } from '../state/schema.ts'

/** Users and their sessions. Times are milliseconds since 1970 in UTC. */
export const identityTables: SchemaStep = {
  id: '3-identity',
  up(connection) {
    connection.exec(`
      CREATE TABLE users (
        uuid TEXT PRIMARY KEY,
        username TEXT NOT NULL UNIQUE,
        wallet TEXT NOT NULL UNIQUE COLLATE NOCASE,
        owner INTEGER UNIQUE CHECK (owner = 1),
        created_at INTEGER NOT NULL,
        disabled_at INTEGER
      ) STRICT;
      CREATE TABLE sessions (
        token_hash BLOB PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        user_uuid TEXT NOT NULL REFERENCES users (uuid) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        label TEXT NOT NULL,
        scopes TEXT,
        created_at INTEGER NOT NULL,
        last_used_at INTEGER NOT NULL,
        expires_at INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sessions_by_user ON sessions (user_uuid, created_at);
      CREATE INDEX sessions_by_end ON sessions (expires_at);
    `)
  },
}
