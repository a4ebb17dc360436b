import type { SchemaStep } from './schema.ts'

/** Who holds what until when (milliseconds since 1970). A row stays after its release, so that fences only rise. */
export const leasesTable: SchemaStep = {
  id: '2-leases',
  up(connection) {
    connection.exec(`
      CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        fence INTEGER NOT NULL,
        expires INTEGER NOT NULL
      ) STRICT;
    `)
  },
}
