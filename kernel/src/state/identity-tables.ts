import type { SchemaStep } from './schema.ts'

/**
 * The tables of users, their sessions and their logins. Times are milliseconds since 1970 in UTC. Wallets are in the
 * mixed case of EIP-55, and comparisons ignore the case.
 */
export const identityTables: SchemaStep = {
  id: '3-identity',
  change: 'expand',
  up(connection) {
    connection.exec(`
      CREATE TABLE users (
        uuid TEXT PRIMARY KEY,
        username TEXT NOT NULL UNIQUE,
        wallet TEXT NOT NULL UNIQUE COLLATE NOCASE,
        owner INTEGER UNIQUE CHECK (owner = 1),
        created_at INTEGER NOT NULL,
        disabled_at INTEGER,
        deletion_due INTEGER
      ) STRICT;
      CREATE INDEX users_by_deletion ON users (deletion_due) WHERE deletion_due IS NOT NULL;
      CREATE TABLE logins (
        provider TEXT NOT NULL,
        provider_uuid TEXT NOT NULL,
        user_uuid TEXT NOT NULL REFERENCES users (uuid) ON DELETE CASCADE,
        first_at INTEGER NOT NULL,
        last_at INTEGER NOT NULL,
        PRIMARY KEY (provider, provider_uuid, user_uuid)
      ) STRICT, WITHOUT ROWID;
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

/** The time at which a user was added by hand. Such a user may sign in whatever `auth.admission` says. */
export const addedUsers: SchemaStep = {
  id: '4-added-users',
  change: 'expand',
  up(connection) {
    connection.exec('ALTER TABLE users ADD COLUMN added_at INTEGER')
  },
}
