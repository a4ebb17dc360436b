/** A file with its content, or a folder. */
type Stored = string | null

/** A lock of a client, as the answer to its request had it. */
interface KnownLock {
  readonly token: string
  readonly path: string
  readonly isDeep: boolean
  readonly isShared: boolean
  /** The number of the client that made it. */
  readonly client: number
}

/** Files, folders and locks as they must be on the node: the model that the answers of WebDAV are compared with. */
export class WebdavTree {
  /** Files and folders by their paths, without the root. Folders are `null`. */
  readonly entries = new Map<string, Stored>()
  locks: KnownLock[] = []

  has(path: string): boolean {
    return path === '/' || this.entries.has(path)
  }

  isFolder(path: string): boolean {
    return path === '/' || this.entries.get(path) === null
  }

  /** The names in a folder, sorted. */
  namesIn(folder: string): string[] {
    const names = [...this.entries.keys()].filter((path) => parentOf(path) === folder)
    return names.map((path) => path.slice(path.lastIndexOf('/') + 1)).sort()
  }

  /** Removes an entry with all that is in it, and their locks. */
  remove(path: string): void {
    for (const each of [...this.entries.keys()]) if (isWithin(each, path)) this.entries.delete(each)
    this.locks = this.locks.filter((lock) => !isWithin(lock.path, path))
  }

  /** Copies an entry to a path where nothing is, with all that is in it. Locks do not go along. */
  copy(source: string, destination: string): void {
    for (const [path, stored] of [...this.entries])
      if (isWithin(path, source)) this.entries.set(destination + path.slice(source.length), stored)
  }

  /** The locks of a path: its own, and the deep ones of folders above it. */
  locksOf(path: string): KnownLock[] {
    return this.locks.filter((lock) => lock.path === path || (lock.isDeep && isWithin(path, lock.path)))
  }

  /** Whether a new lock has something in common with one that does not go together with it. */
  conflicts({ path, isDeep, isShared }: Pick<KnownLock, 'path' | 'isDeep' | 'isShared'>): boolean {
    return this.locks.some(
      (lock) =>
        !(lock.isShared && isShared) &&
        (lock.path === path ||
          (lock.isDeep && isWithin(path, lock.path)) ||
          (isDeep && isWithin(lock.path, path))),
    )
  }

  /** Whether a change of a path needs a token that was not sent. */
  isLocked(path: string, sent: ReadonlySet<string>): boolean {
    const locks = this.locksOf(path)
    return locks.length > 0 && !locks.some(({ token }) => sent.has(token))
  }

  /** Whether a change of an entry with all that is in it needs a token that was not sent. */
  isTreeLocked(path: string, sent: ReadonlySet<string>): boolean {
    const below = this.locks.filter((lock) => isWithin(lock.path, path))
    return [path, ...below.map((lock) => lock.path)].some((each) => this.isLocked(each, sent))
  }
}

/** Whether a path is that of an entry, or of something in it. */
export function isWithin(path: string, entry: string): boolean {
  return entry === '/' || path === entry || path.startsWith(`${entry}/`)
}

export function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/'
}
