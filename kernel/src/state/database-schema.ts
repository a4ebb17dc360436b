import { addedUsers, identityTables } from './identity-tables.ts'
import { migrationChanges, type SchemaStep, stateTables } from './schema.ts'

/** The kernel's own tables, in the order in which they were introduced. */
export const databaseSchema: readonly SchemaStep[] = [
  ...stateTables,
  identityTables,
  addedUsers,
  migrationChanges,
]
