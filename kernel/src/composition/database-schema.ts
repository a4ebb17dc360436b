import { migrationChanges, type SchemaStep, stateTables } from '../state/schema.ts'
import { addedUsers, identityTables } from '../users/identity-tables.ts'

/** The kernel's own tables, in the order in which they were introduced. */
export const databaseSchema: readonly SchemaStep[] = [
  ...stateTables,
  identityTables,
  addedUsers,
  migrationChanges,
]
