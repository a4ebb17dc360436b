/** An attempt to change the release that the node runs. */
export interface ReleaseAttempt {
  /** The version that ran before. */
  readonly from: string
  /** The version that was to run. */
  readonly to: string
  readonly startedAt: Date
  /** `null` while it runs. */
  readonly endedAt: Date | null
  /**
   * `installed`: clients reach the new version. `failed`: clients never reached it, and the data is as it was before. `went back`: a
   * change from a version that clients had reached to the version before it, with all data that was written meanwhile.
   */
  readonly result: 'running' | 'installed' | 'failed' | 'went back'
  /** One sentence for people; `null` for a change that runs or has succeeded. */
  readonly reason: string | null
  /** Whether the new version itself has failed, on trial. It is `false` after a full disk or an interruption, so a repetition may succeed. */
  readonly failedOnTrial: boolean
}

/** The findings about an unpacked release, each in one sentence for people. */
export interface ReleaseCheck {
  /** Each of them would keep the release from starting. */
  readonly problems: readonly string[]
  /** Optional plugins that the release would start without. */
  readonly warnings: readonly string[]
  /**
   * Whether the running version could use the kernel's tables of the release. If not, no rollback is possible after clients have
   * reached the release. The migrations of plugins are known on trial only.
   */
  readonly canRollBack: boolean
}

/** The release that ran before, to which the node can go back. */
export interface RollbackTarget {
  readonly version: string
  /** The time until which a rollback is possible at least. It comes later if the supervisor does not run meanwhile. */
  readonly until: Date
}

/** Copies of all databases of the node, from directly before an update. They are never put back without a person. */
export interface DatabaseCopies {
  /** The absolute path of their folder. */
  readonly folder: string
  /** The version that started after they were made. */
  readonly before: string
  readonly bytes: number
  /** The time until which they stay at least, unless a further update replaces them. */
  readonly until: Date
}

/** The releases on this machine, and the supervisor that changes between them. */
export interface NodeReleases {
  /** The absolute path of the folder for releases; `null` if no supervisor runs the node. */
  readonly folder: string | null
  /**
   * Makes an empty folder for the content of an archive, on the disk of the releases. Everything that an earlier call left goes.
   *
   * @param version `<major>.<minor>.<patch>`
   * @returns the absolute path
   * @throws NodekeepError CONFLICT without a supervisor, while the release changes, or if no program may run on that disk;
   *   VALIDATION_ERROR if the text is not a version
   */
  prepare(version: string): Promise<string>
  /**
   * Checks an unpacked release with the configuration of this node, before anything stops: the release itself reads the
   * configuration and imports the plugins, in a process of its own.
   *
   * @param folder an absolute path, with `release.json` in it
   * @throws NodekeepError VALIDATION_ERROR if there is no release in the folder; the signal's reason
   */
  check(folder: string, signal: AbortSignal): Promise<ReleaseCheck>
  /**
   * Keeps an unpacked release, and asks the supervisor to change to it. The node serves until requests that run have ended, and stops
   * then. The new release starts on trial: if it does not start, or is not healthy, the supervisor puts the databases back
   * and starts this version again.
   *
   * @param folder the path that {@link prepare} returned
   * @param options.waitMs the maximum time to wait for requests that run, such as uploads
   * @param options.withoutRollback whether the release may run migrations that this version cannot undo, so that there is no rollback.
   *   Otherwise its trial fails if it does. Default: `false`
   * @returns resolves when the supervisor has begun
   * @throws NodekeepError CONFLICT without a supervisor, while the release changes already, or if this version runs;
   *   VALIDATION_ERROR if there is no release for this machine in the folder
   */
  changeTo(
    folder: string,
    options: { readonly waitMs: number; readonly withoutRollback?: boolean },
  ): Promise<void>
  /**
   * Goes back to the former release, which takes over all data. The node stops then.
   *
   * @param reason one sentence for people
   * @returns resolves when the supervisor has begun
   * @throws NodekeepError CONFLICT if {@link rollback} is `null`, or while the release changes
   */
  goBack(reason: string): Promise<void>
  /**
   * Returns the former release while a rollback is possible: for `rollbackHours` for which the supervisor runs after clients have
   * reached this one, whatever the clock says. It is `null` if this version has changed data in a way that the former one cannot use.
   */
  rollback(): Promise<RollbackTarget | null>
  /**
   * Asks the former release whether it could start with the configuration as it is now. A key that only this version knows would keep
   * it from starting.
   *
   * @returns one line for each problem, which names the key; none if {@link rollback} is `null`
   * @throws NodekeepError SERVICE_UNAVAILABLE if the former release cannot tell now, with the reason
   */
  rollbackProblems(): Promise<readonly string[]>
  /** Returns the copies of the databases from before the last update. They stay for `rollbackHours` for which the supervisor runs. */
  databaseCopies(): Promise<readonly DatabaseCopies[]>
  /** Returns the last attempts, at most 100, the newest last. They survive each rollback. */
  history(): Promise<readonly ReleaseAttempt[]>
}
