import { Worker } from 'node:worker_threads'
import { lastingThread, moduleBeside } from './threads.ts'
import type { FromWatchThread, WatchOrder } from './watch-folder/watch-messages.ts'

/** A folder to watch. */
export interface FolderWatchOptions {
  /** An absolute path without symbolic links. */
  readonly root: string
  /** A folder below, whose changes are left out. An absolute path. */
  readonly except?: string
  /** Takes paths below the root that may have changed, as the disk has them. `''` stands for all of them. */
  readonly onChange: (paths: readonly string[]) => void
  /**
   * Called when the watch has ended by itself: the system has no watches left, and the message has the code of the error, such as
   * `ENOSPC`. Or the thread has failed.
   */
  readonly onFailure: (error: Error) => void
  /** Ends the watch. */
  readonly signal: AbortSignal
}

/**
 * Watches a folder and all folders below it, not those behind symbolic links, in a thread of its own: hints of many changes at once
 * would hold up the process. Resolves when it has begun or ended.
 *
 * It may lose changes, such as those that other machines make on a network drive. So scan everything from time to time.
 */
export async function watchFolder(options: FolderWatchOptions): Promise<void> {
  const { root, except, onChange, onFailure, signal } = options
  if (signal.aborted) return
  const workerData: WatchOrder = { root, except }
  const file = moduleBeside(import.meta.url, 'watch-folder/watch-thread')
  const thread = new Worker(file, { ...lastingThread, workerData, name: 'watch of files' })
  const begun = Promise.withResolvers<void>()
  let hasEnded = false
  const end = () => {
    hasEnded = true
    thread.terminate()
    begun.resolve()
  }
  const fail = (error: Error) => {
    if (hasEnded) return
    end()
    onFailure(error)
  }
  thread.on('message', (message: FromWatchThread) => {
    if (hasEnded) return
    if (message === 'ready') begun.resolve()
    else if ('usedUp' in message) fail(new Error(withoutWatches(message.usedUp)))
    else onChange(message)
  })
  thread.on('error', (cause) => fail(new Error('The thread that watches has failed.', { cause })))
  thread.on('exit', () => fail(new Error('The thread that watches has ended.')))
  signal.addEventListener('abort', end, { once: true })
  await begun.promise
}

function withoutWatches(code: string): string {
  return `The system has no watches left (${code}). Raise fs.inotify.max_user_watches and max_user_instances.`
}
