import { answerInThread } from '@nodekeep/plugin-sdk/threads'
import { type MigratedDatabase, migrateRestoredDatabase } from './migrate-restored-database.ts'

/** The data that the thread is started with. */
export interface MigrationOrder {
  readonly file: string
  readonly moment: number
}

await answerInThread<MigrationOrder, never, MigratedDatabase>(({ file, moment }) =>
  migrateRestoredDatabase(file, moment),
)
