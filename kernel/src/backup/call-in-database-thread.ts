import { moduleBeside, runInThread } from '@nodekeep/plugin-sdk/threads'
import { statementFailure } from '../state/sqlite-errors.ts'
import type { DatabaseCall, ThreadFunctions } from './database-thread.ts'

/**
 * Calls a function that works on a database in a thread, since a large one takes seconds.
 *
 * @throws the signal's reason, and errors of SQLite as callers of statements get them
 */
export async function callInDatabaseThread<Name extends keyof ThreadFunctions>(
  name: Name,
  args: Parameters<ThreadFunctions[Name]>,
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<ThreadFunctions[Name]>>> {
  const module = moduleBeside(import.meta.url, 'database-thread')
  try {
    return await runInThread<DatabaseCall, never, Awaited<ReturnType<ThreadFunctions[Name]>>>(module, {
      name,
      order: { name, args },
      signal,
    })
  } catch (error) {
    throw statementFailure(error)
  }
}
