import { type FSWatcher, readFileSync, watch } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'

/** Milliseconds for which changed paths are gathered. A program that writes a file changes it several times. */
const gatherMs = 50

/** With more paths than this, a scan of everything is quicker. */
const mostPaths = 10_000

const noWatchesLeft = ['ENOSPC', 'EMFILE', 'ENFILE']

/** A folder to watch. */
export interface FolderWatchOptions {
  /** An absolute path without symbolic links. */
  readonly root: string
  /** A folder below, whose changes are left out. An absolute path. */
  readonly except?: string
  /** Takes paths below the root that may have changed, as the disk has them. `''` stands for all of them. */
  readonly onChange: (paths: readonly string[]) => void
  /** Called with the code of the error, such as `ENOSPC`, if the system has no watches left. The watch has ended then. */
  readonly onUsedUp: (code: string) => void
  /** Ends the watch. */
  readonly signal: AbortSignal
}

interface WatchedFolder {
  readonly watcher: FSWatcher
  /** Paths of the folders in it that are watched. */
  readonly folders: Set<string>
}

/**
 * Watches a folder and all folders below it, not those behind symbolic links. Resolves when it has begun.
 *
 * It may lose changes, such as those that other machines make on a network drive. So scan everything from time to time.
 */
export async function watchFolder(options: FolderWatchOptions): Promise<void> {
  await new FolderWatch(options).begin()
}

/**
 * A watch of each folder: it tells the changes of the files in it, and the system has few watches to give.
 *
 * It is no library. `fs.watch` of Node takes a watch for each file if it is recursive, and chokidar lists a whole folder anew after
 * each change in it (also MEMORY.md, "fetch, chokidar").
 */
class FolderWatch {
  readonly #options: FolderWatchOptions
  /** The watched folders by path, each with all folders above it up to the root. */
  readonly #watches = new Map<string, WatchedFolder>()
  #gathered = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  readonly #eventsAtRisk = mostQueuedEvents() / 2
  #eventsOfTurn = 0
  #isEnded = false

  constructor(options: FolderWatchOptions) {
    this.#options = options
  }

  async begin(): Promise<void> {
    const { root, signal } = this.#options
    signal.addEventListener('abort', () => this.#end(), { once: true })
    if (signal.aborted) this.#end()
    await this.#add(root)
  }

  /** Watches a folder and those below it. Returns whether it was not watched before. */
  async #add(path: string): Promise<boolean> {
    const stats = await lstat(path).catch(() => null)
    if (!stats?.isDirectory() || this.#isEnded || this.#watches.has(path) || path === this.#options.except)
      return false
    const above = this.#watches.get(dirname(path))
    // The folder above has gone. If another folder has taken its path, it is scanned too.
    if (above === undefined && path !== this.#options.root) return false
    try {
      const watcher = watch(path, (event, name) => this.#take(event, name === null ? path : join(path, name)))
      watcher.on('error', () => this.#take('rename', path))
      this.#watches.set(path, { watcher, folders: new Set() })
      above?.folders.add(path)
      for (const entry of await readdir(path, { withFileTypes: true })) {
        if (entry.isDirectory()) await this.#add(join(path, entry.name))
      }
    } catch (error) {
      // A folder that is gone, or that cannot be read, has no changes to tell.
      const { code = '' } = error as NodeJS.ErrnoException
      if (noWatchesLeft.includes(code)) this.#giveUp(code)
    }
    return true
  }

  #take(event: string, path: string): void {
    this.#countEvent()
    if (event === 'rename') this.#watchAnew(path)
    else this.#gather(path)
  }

  /** A watch stays with its folder, and another one may have taken the path. */
  #watchAnew(path: string): void {
    this.#gather(path)
    this.#remove(path)
    this.#add(path).then((isNew) => {
      // Its content may have come before its watch.
      if (isNew) this.#gather(path)
    })
  }

  /** Ends the watches of a folder and of those below it. */
  #remove(folder: string): void {
    const watched = this.#watches.get(folder)
    if (watched === undefined) return
    this.#watches.delete(folder)
    this.#watches.get(dirname(folder))?.folders.delete(folder)
    watched.watcher.close()
    for (const path of watched.folders) this.#remove(path)
  }

  #gather(path: string): void {
    const { root, except } = this.#options
    if (this.#isEnded || path === except || path.startsWith(except + sep)) return
    this.#gathered.add(relative(root, path))
    if (this.#gathered.size > mostPaths) this.#gathered = new Set([''])
    this.#timer ??= setTimeout(() => this.#send(), gatherMs)
  }

  #send(): void {
    const paths = [...this.#gathered]
    this.#timer = undefined
    this.#gathered = new Set()
    this.#options.onChange(paths)
  }

  /**
   * The system drops events without a word when its queue is full, and hands over the whole queue in one turn of the event loop.
   * Many events in one turn mean that others may be lost, also those of new folders.
   */
  #countEvent(): void {
    if (this.#eventsOfTurn === 0) {
      setImmediate(() => {
        if (this.#eventsOfTurn >= this.#eventsAtRisk) this.#watchAnew(this.#options.root)
        this.#eventsOfTurn = 0
      })
    }
    this.#eventsOfTurn += 1
  }

  /** Half a watch would only take watches from other programs. */
  #giveUp(code: string): void {
    if (this.#isEnded) return
    this.#end()
    this.#options.onUsedUp(code)
  }

  #end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
    this.#remove(this.#options.root)
  }
}

/** `inotify(7)`; other systems have no such file. */
function mostQueuedEvents(): number {
  try {
    return Number(readFileSync('/proc/sys/fs/inotify/max_queued_events', 'utf8'))
  } catch {
    return 16_384
  }
}
