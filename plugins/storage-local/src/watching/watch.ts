import { watchFolder } from '@nodekeep/plugin-sdk/watch-folder'
import { shownName } from '../folders/stored-names.ts'

/** Milliseconds between two hints to scan everything: the system may lose events, and reports no changes of other machines. */
const everywhereMs = 60 * 60_000

/** Milliseconds between these hints while the system has no watches left. */
const withoutWatchesMs = 10 * 60_000

/** Milliseconds that the begin of a watch takes at most. Folders that were not watched by then are scanned again once they are. */
const maxWaitMs = 10_000

interface WatchOptions {
  /** An absolute path without symbolic links. */
  readonly root: string
  /** The absolute path of the folder whose changes are the node's own. */
  readonly staging: string
  /** Takes the paths of the backend that may have changed. `/` stands for all of them. */
  readonly listener: (paths: readonly string[]) => void
  readonly signal: AbortSignal
  /** Called when the root cannot be watched, and hints to scan everything come instead. */
  readonly onFailure: (error: Error) => void
}

/** Watches a root. Resolves when all folders are watched, when they cannot be, or after 10 s. */
export async function watchRoot({ root, staging, listener, signal, onFailure }: WatchOptions): Promise<void> {
  signal.throwIfAborted()
  const lookEverywhere = () => listener(['/'])
  let timer = setInterval(lookEverywhere, everywhereMs).unref()
  signal.addEventListener('abort', () => clearInterval(timer), { once: true })
  const begun = watchFolder({
    root,
    except: staging,
    onChange: (paths) => listener(paths.map(pathOf)),
    onFailure: (error) => {
      onFailure(error)
      clearInterval(timer)
      timer = setInterval(lookEverywhere, withoutWatchesMs).unref()
      lookEverywhere()
    },
    signal,
  })
  let waiting: NodeJS.Timeout | undefined
  const isLate = await Promise.race([
    begun.then(() => false),
    new Promise<true>((resolve) => {
      waiting = setTimeout(resolve, maxWaitMs, true)
    }),
  ])
  clearTimeout(waiting)
  signal.throwIfAborted()
  if (isLate) begun.then(() => signal.aborted || lookEverywhere())
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
