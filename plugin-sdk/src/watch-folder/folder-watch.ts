import { readFileSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { FSWatcher } from 'chokidar'
import type { WatchOrder } from './watch-messages.ts'

/** Milliseconds for which changed paths are gathered. A program that writes a file changes it several times. */
const gatherMs = 50

/** With more paths than this, a scan of everything is quicker. */
const mostPaths = 10_000

const noWatchesLeft = ['ENOSPC', 'EMFILE', 'ENFILE']

interface FolderWatchOptions extends WatchOrder {
  /** Takes paths below the root that may have changed, as the disk has them. `''` stands for all of them. */
  readonly onChange: (paths: readonly string[]) => void
  /** Called with the code of the error, such as `ENOSPC`, if the system has no watches left. The watch has ended then. */
  readonly onUsedUp: (code: string) => void
}

/**
 * Tells that the entries of one folder have changed.
 *
 * chokidar would list the folder, with a look at each file in it, when it begins and after each change. Nobody uses these lists (also
 * MEMORY.md, "chokidar").
 */
class EntriesWatcher extends FSWatcher {
  override _readdirp(): undefined {}

  /** Where nothing is to watch, chokidar would watch the folder above instead, and tell its changes as those of this one. */
  override add(path: string, missing?: string): this {
    if (missing === undefined) super.add(path)
    return this
  }
}

interface WatchedFolder {
  readonly watcher: EntriesWatcher
  /** Resolves when the watch has begun or has ended. */
  readonly begun: PromiseWithResolvers<void>
  /** Paths of the folders in it that are watched. */
  readonly folders: Set<string>
}

/**
 * Watches a folder and all folders below it, not those behind symbolic links: each by a chokidar of its own, which takes one watch of the
 * system and tells the changes of the files in the folder.
 *
 * One chokidar of all folders would list a folder before it watches it, so it would miss what comes in between. And its watch would stay
 * with a folder whose path another one has taken.
 */
export class FolderWatch {
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

  /** Resolves when all folders are watched, or when the system has no watches left. */
  async begin(): Promise<void> {
    await this.#add(this.#options.root)
  }

  end(): void {
    this.#isEnded = true
    clearTimeout(this.#timer)
    this.#remove(this.#options.root)
  }

  /** Watches a folder and those below it. Returns whether it was not watched before. */
  async #add(path: string): Promise<boolean> {
    const stats = await lstat(path).catch(() => null)
    if (!stats?.isDirectory() || this.#isEnded || this.#watches.has(path) || path === this.#options.except)
      return false
    const above = this.#watches.get(dirname(path))
    // The folder above has gone. If another folder has taken its path, it is scanned too.
    if (above === undefined && path !== this.#options.root) return false
    const watched = this.#watch(path)
    this.#watches.set(path, watched)
    above?.folders.add(path)
    await watched.begun.promise
    // It has gone meanwhile. A folder that has taken its path has a watch of its own.
    if (this.#watches.get(path) !== watched) return false
    const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      this.#giveUpWithout(error)
      return null
    })
    if (entries === null) {
      // A folder that is gone, or that cannot be read, has no changes to tell.
      if (this.#watches.get(path) === watched) this.#remove(path)
      return false
    }
    for (const entry of entries) if (entry.isDirectory()) await this.#add(join(path, entry.name))
    return true
  }

  #watch(path: string): WatchedFolder {
    const watcher = new EntriesWatcher({
      // In a path to watch, chokidar takes a backslash for a slash.
      cwd: path,
      // It would leave out folders whose names end with "~", like copies of editors.
      atomic: false,
      followSymlinks: false,
      ignorePermissionErrors: true,
    })
    const begun = Promise.withResolvers<void>()
    watcher.on('raw', (event, name: string | null) =>
      this.#take(event, name === null ? path : join(path, name)),
    )
    watcher.on('error', (error) => this.#giveUpWithout(error))
    watcher.once('ready', () => {
      begun.resolve()
      watcher.on('error', () => this.#take('rename', path))
    })
    watcher.add('.')
    return { watcher, begun, folders: new Set() }
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
    // Work of chokidar that is under way may still fail.
    watched.watcher.on('error', () => {})
    watched.begun.resolve()
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

  /** Ends the watch if the system has no watches left. Half a watch would only take watches from other programs. */
  #giveUpWithout(error: unknown): void {
    const { code = '' } = error as NodeJS.ErrnoException
    if (this.#isEnded || !noWatchesLeft.includes(code)) return
    this.end()
    this.#options.onUsedUp(code)
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
