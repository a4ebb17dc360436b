/** The worker data of the thread that watches. */
export interface WatchOrder {
  /** An absolute path without symbolic links. */
  readonly root: string
  /** A folder below, whose changes are left out. An absolute path. */
  readonly except?: string | undefined
}

/**
 * Messages from the thread: `ready` when all folders are watched, then the paths below the root that may have changed, as the
 * disk has them. `usedUp` is the last message, with the code of the error: the system has no watches left.
 */
export type FromWatchThread = 'ready' | readonly string[] | { readonly usedUp: string }
