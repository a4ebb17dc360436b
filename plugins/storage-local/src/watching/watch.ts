import { Worker } from 'node:worker_threads'
import { lastingThread, moduleBeside } from '@nodekeep/plugin-sdk/threads'
import { shownName } from '../folders/stored-names.ts'

/** Milliseconds between two hints to scan everything: the system may lose events, and reports no changes of other machines. */
const everywhereMs = 60 * 60_000

/** Milliseconds between these hints while the system has no watches left. */
const withoutWatchesMs = 10 * 60_000

/** Milliseconds that the begin of a watch takes at most. Folders that were not watched by then are scanned again once they are. */
const maxWaitMs = 10_000

/** The worker data of the thread that watches. Both are absolute paths without symbolic links. */
export interface WatchSettings {
  readonly root: string
  /** The folder whose changes are the node's own. */
  readonly staging: string
}

/**
 * Messages from the thread: `ready` when all folders are watched, then the paths below the root that may have changed, as the
 * disk has them. `usedUp` is the last message: the system has no watches left.
 */
export type FromWatcher = 'ready' | readonly string[] | { readonly usedUp: string }

interface WatchOptions extends WatchSettings {
  /** Takes the paths of the backend that may have changed. `/` stands for all of them. */
  readonly listener: (paths: readonly string[]) => void
  readonly signal: AbortSignal
  /** Called when the root cannot be watched, and hints to scan everything come instead. */
  readonly onFailure: (error: Error) => void
}

/** Watches a root in a thread of its own. Resolves when all folders are watched, when they cannot be, or after 10 s. */
export async function watchRoot({ root, staging, listener, signal, onFailure }: WatchOptions): Promise<void> {
  signal.throwIfAborted()
  const file = moduleBeside(import.meta.url, 'watch-thread')
  const workerData: WatchSettings = { root, staging }
  const thread = new Worker(file, { ...lastingThread, workerData, name: 'watch of files' })
  const lookEverywhere = () => listener(['/'])
  const begun = Promise.withResolvers<void>()
  let timer = setInterval(lookEverywhere, everywhereMs).unref()
  let isWatching = true
  let isLate = false
  const waiting = setTimeout(() => {
    isLate = true
    begun.resolve()
  }, maxWaitMs)
  const fail = (error: Error) => {
    if (!isWatching || signal.aborted) return
    isWatching = false
    onFailure(error)
    clearInterval(timer)
    timer = setInterval(lookEverywhere, withoutWatchesMs).unref()
    lookEverywhere()
    begun.resolve()
  }
  thread.on('message', (message: FromWatcher) => {
    if (message === 'ready') {
      if (isLate) lookEverywhere()
      begun.resolve()
    } else if ('usedUp' in message) {
      fail(new Error(`The system has no watches left (${message.usedUp}).`))
      thread.terminate()
    } else if (isWatching) listener(message.map(pathOf))
  })
  thread.on('error', (error) => fail(new Error('The thread that watches has failed.', { cause: error })))
  thread.on('exit', () => fail(new Error('The thread that watches has ended.')))
  signal.addEventListener(
    'abort',
    () => {
      clearInterval(timer)
      thread.terminate()
      begun.reject(signal.reason)
    },
    { once: true },
  )
  await begun.promise.finally(() => clearTimeout(waiting))
  // A watch keeps no process alive.
  thread.unref()
}

/** The path in the backend. For a name that is not shown, it is the path of its folder. */
function pathOf(below: string): string {
  let path = ''
  for (const stored of below === '' ? [] : below.split(/[/\\]/)) {
    const name = shownName(stored)
    if (name === null) break
    path += `/${name}`
  }
  return path === '' ? '/' : path
}
