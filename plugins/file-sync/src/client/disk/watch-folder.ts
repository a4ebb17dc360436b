import { stat } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { watch } from 'chokidar'

/** Milliseconds for which changed paths are gathered. A program that writes a file changes it several times. */
const gatherMs = 50

/** More paths than this are no help: looking everywhere is quicker. */
const mostPaths = 5000

interface WatchParts {
  readonly root: string
  /** The folder of the client itself. */
  readonly own: string
  /** Takes paths below the root as the disk has them. `''` stands for everything. */
  readonly onChange: (paths: readonly string[]) => void
  /** Called when the folder cannot be watched, with a sentence for the person. Everything is then looked at every minute. */
  readonly onTrouble: (message: string) => void
  readonly signal: AbortSignal
  /** Milliseconds between two looks at everything while the system has no watches left. Default: a minute. */
  readonly pollMs?: number
}

/** Watches a folder until the signal aborts. It may lose changes. Resolves when it has begun. */
export async function watchFolder({
  root,
  own,
  onChange,
  onTrouble,
  signal,
  pollMs = 60_000,
}: WatchParts): Promise<void> {
  let gathered = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const begun = Promise.withResolvers<void>()
  const send = () => {
    timer = undefined
    const paths = gathered.size > mostPaths ? [''] : [...gathered]
    gathered = new Set()
    onChange(paths)
  }
  const gather = (path: string) => {
    if (signal.aborted || path === own || path.startsWith(own + sep)) return
    gathered.add(relative(root, path))
    timer ??= setTimeout(send, gatherMs)
  }
  // Only folders are watched: each tells the changes of the files in it, and the system has few watches to give.
  const watcher = watch(root, {
    followSymlinks: false,
    ignored: (path, stats) => path === own || (stats !== undefined && !stats.isDirectory()),
  })
  let polling: NodeJS.Timeout | undefined
  /** Inodes of the watched folders, by path. */
  const inodes = new Map<string, number>()
  /** A watch stays with its inode. If another folder has taken the path at once, chokidar does not notice. */
  const renew = async (path: string) => {
    const known = inodes.get(path)
    const now = known === undefined ? null : await stat(path).catch(() => null)
    if (now === null || now.ino === known || signal.aborted) return
    inodes.set(path, now.ino)
    watcher.unwatch(path)
    watcher.add(path)
    gather(path)
  }
  watcher.on('raw', (event, name, details) => {
    const { watchedPath } = details as { readonly watchedPath: string }
    const path = typeof name === 'string' ? join(watchedPath, name) : watchedPath
    gather(path)
    if (event === 'rename') renew(path)
  })
  let isReady = false
  watcher.on('addDir', (path, stats) => {
    if (stats !== undefined) inodes.set(path, stats.ino)
    if (isReady) gather(path)
  })
  watcher.on('unlinkDir', (path) => inodes.delete(path))
  watcher.on('ready', () => {
    isReady = true
    begun.resolve()
  })
  watcher.on('error', (error) => {
    const { code = '' } = error as NodeJS.ErrnoException
    if (!['ENOSPC', 'EMFILE', 'ENFILE'].includes(code)) return gather(root)
    onTrouble(
      `The system has no watches left (${code}), so changes are looked for every minute. Raise fs.inotify.max_user_watches.`,
    )
    polling ??= setInterval(() => onChange(['']), pollMs)
    watcher.close()
    begun.resolve()
  })
  const end = () => {
    clearTimeout(timer)
    clearInterval(polling)
    watcher.close()
    begun.resolve()
  }
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  await begun.promise
}
