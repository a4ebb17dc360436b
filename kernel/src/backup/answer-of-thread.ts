import { moduleBeside, runInThread, type ThreadOptions } from '@nodekeep/plugin-sdk/threads'
import { statementFailure } from '../state/sqlite-errors.ts'

/** A thread that works on a database, and sends one message when it is done. */
interface DatabaseThread<Order> extends Pick<ThreadOptions<Order, never>, 'name' | 'order' | 'signal'> {
  /** The module in this folder, without its extension. */
  readonly module: string
}

/**
 * Works on a database in a thread, since a large one takes seconds.
 *
 * @throws the signal's reason, and errors of SQLite as callers of statements get them
 */
export async function answerOfThread<Order, Answer>({
  module,
  ...options
}: DatabaseThread<Order>): Promise<Answer> {
  try {
    return await runInThread<Order, never, Answer>(moduleBeside(import.meta.url, module), options)
  } catch (error) {
    throw statementFailure(error)
  }
}
