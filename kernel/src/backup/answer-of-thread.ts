import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { statementFailure } from '../state/sqlite-errors.ts'

/** A thread that works on a database, and sends one message when it is done. */
interface DatabaseThread {
  /** The module in this folder, without its extension. */
  readonly module: string
  /** For people who watch the process. */
  readonly name: string
  readonly order: object
  readonly signal?: AbortSignal
}

/**
 * Works on a database in a thread, since a large one takes seconds.
 *
 * @throws the signal's reason, and errors of SQLite as callers of statements get them
 */
export async function answerOfThread<T>({ module, name, order, signal }: DatabaseThread): Promise<T> {
  // The thread's file has the extension of this one: `.ts` in the sources, `.js` once compiled.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const thread = new Worker(new URL(`${module}.${extension}`, import.meta.url), {
    workerData: order,
    name,
  })
  try {
    const [answer] = await once(thread, 'message', { ...(signal && { signal }) })
    return answer
  } catch (error) {
    throw signal?.aborted ? signal.reason : statementFailure(error)
  } finally {
    await thread.terminate()
  }
}
