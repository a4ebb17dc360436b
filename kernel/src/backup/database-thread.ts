import { answerInThread } from '@nodekeep/plugin-sdk/threads'
import { cleanState } from './clean-state.ts'
import type * as Migration from './migrate-restored-database.ts'

const functions = {
  cleanState,
  // It needs twenty times as many modules, and each backup cleans a state.
  async migrateRestoredDatabase(...args: Parameters<typeof Migration.migrateRestoredDatabase>) {
    return (await import('./migrate-restored-database.ts')).migrateRestoredDatabase(...args)
  },
}

/** The functions that the thread runs, by name. */
export type ThreadFunctions = typeof functions

/** The data that the thread is started with. */
export interface DatabaseCall {
  readonly name: keyof ThreadFunctions
  readonly args: readonly unknown[]
}

await answerInThread<DatabaseCall, never, unknown>(({ name, args }) =>
  (functions[name] as (...args: readonly unknown[]) => unknown)(...args),
)
