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
