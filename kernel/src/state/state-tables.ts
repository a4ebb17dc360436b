import type { SchemaStep } from './schema.ts'

/**
 * Where plugins keep their state, and which of their migrations have run.
 *
 * The columns of `state` are those that @keyv/sqlite expects; it makes the table itself when there is none, but
 * with the key before the namespace, which would make listing one plugin's entries a walk over everybody's.
 */
export const pluginStateTables: SchemaStep = {
  id: '1-plugin-state',
  up(connection) {
    connection.exec(`
      CREATE TABLE state (
        namespace TEXT NOT NULL,
        key TEXT NOT NULL,
        value TEXT NOT NULL,
        expires INTEGER,
        UNIQUE (namespace, key)
      ) STRICT;
      CREATE INDEX state_expires_idx ON state (expires) WHERE expires IS NOT NULL;
      CREATE TABLE plugin_migrations (
        plugin TEXT NOT NULL,
        position INTEGER NOT NULL,
        id TEXT NOT NULL,
        applied_at TEXT NOT NULL,
        PRIMARY KEY (plugin, position),
        UNIQUE (plugin, id)
      ) STRICT;
    `)
  },
}
