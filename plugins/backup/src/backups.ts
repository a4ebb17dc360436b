import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import { generateKey } from './archive/recovery-key.ts'
import type { BackupMaker, MadeBackup } from './create/backup-maker.ts'
import { type Keep, retainedBackups } from './retention/retained-backups.ts'
import type { BackupFolder } from './stored/backup-folder.ts'
import type { Targets } from './targets/targets.ts'

/** How the last attempt to make a backup ended. */
interface LastAttempt {
  /** ISO 8601. */
  readonly at: string
  /** The backup; null if it failed. */
  readonly filename: string | null
  /** The reason of a failure, for the owner. */
  readonly problem: string | null
}

const defaultRetryMs = 10 * 60_000

interface BackupsServices {
  readonly maker: BackupMaker
  readonly folder: BackupFolder
  readonly targets: Targets
  readonly keep: Keep | undefined
  readonly state: StateStore
  readonly log: Log
  readonly signal: AbortSignal
  /** Begins what follows a backup and may take long, such as its drill. */
  readonly onMade: (backup: MadeBackup, identities: readonly string[]) => void
  /** Ends what should not go on beside a backup, such as the drill of the one before. */
  readonly onBegin?: () => void
  /** Whether each backup gets a key of its own, which `onMade` receives, and which is stored nowhere. */
  readonly hasOwnKeys?: boolean
  /** How long a target that is out of reach is left alone, in milliseconds. */
  readonly retryMs?: number
}

/** Makes backups, and does what follows: deletes those that are not kept, and copies the others to the targets. */
export class Backups {
  readonly #services: BackupsServices
  #last: LastAttempt | null = null
  #copying: Promise<void> = Promise.resolve()
  #retry: NodeJS.Timeout | undefined
  /** The backups of the future that the log has named. */
  #named: readonly string[] = []

  constructor(services: BackupsServices) {
    this.#services = services
  }

  /** The last attempt, also of an earlier start. */
  get last(): LastAttempt | null {
    return this.#last
  }

  async load(): Promise<void> {
    this.#last = (await this.#services.state.get<LastAttempt>('last')) ?? null
  }

  /** @throws the errors of `BackupMaker.make` */
  async make(): Promise<MadeBackup> {
    const { maker, signal, onMade, onBegin, hasOwnKeys } = this.#services
    const isOther = maker.progress !== null
    if (!isOther) onBegin?.()
    const at = new Date().toISOString()
    try {
      const key = hasOwnKeys ? await generateKey() : null
      const made = await maker.make(signal, key === null ? [] : [key.recipient])
      await this.#remember({ at, filename: made.filename, problem: null })
      await this.#thinOut(made.created)
      await this.nameAhead()
      this.updateTargets(made.created)
      onMade(made, key === null ? [] : [key.identity])
      return made
    } catch (error) {
      if (!isOther && !signal.aborted) {
        await this.#remember({ at, filename: null, problem: (error as Error).message })
      }
      throw error
    }
  }

  /** Returns the names of the backups that are dated in the future. Nobody can tell how old they are. */
  async ahead(): Promise<string[]> {
    const now = new Date()
    const backups = await this.#services.folder.list()
    return backups.filter(({ created }) => created > now).map(({ filename }) => filename)
  }

  /** Names in the log the backups that are dated in the future, each once. */
  async nameAhead(): Promise<void> {
    const ahead = await this.ahead()
    const filenames = ahead.filter((filename) => !this.#named.includes(filename))
    this.#named = ahead
    if (filenames.length === 0) return
    this.#services.log.warn(
      { filenames },
      'These backups are dated in the future, so they are kept and not counted. Check the clock. If it is right, delete them.',
    )
  }

  /**
   * Brings the targets up to date in the background, and again later if one of them is out of reach.
   *
   * @param now the moment of a backup that was just made. Default: the present
   */
  updateTargets(now?: Date): void {
    const { targets, signal, retryMs = defaultRetryMs } = this.#services
    clearTimeout(this.#retry)
    this.#copying = this.#copying.then(async () => {
      await targets.update(signal, now)
      if (signal.aborted || !targets.areBehind) return
      this.#retry = setTimeout(() => this.updateTargets(), retryMs)
      this.#retry.unref()
    })
  }

  /** Waits for the end of running copies. Abort the signal before. */
  async close(): Promise<void> {
    clearTimeout(this.#retry)
    await this.#copying
  }

  async #remember(attempt: LastAttempt): Promise<void> {
    this.#last = attempt
    await this.#services.state.set('last', attempt)
  }

  /** @param now the moment of the backup that was just made */
  async #thinOut(now: Date): Promise<void> {
    const { folder, keep, log } = this.#services
    if (keep === undefined) return
    const backups = await folder.list()
    const kept = retainedBackups(backups, keep, now)
    for (const { filename } of backups.filter((backup) => !kept.has(backup))) {
      await folder.remove(filename)
      log.info({ filename }, 'An old backup was deleted, as backup.keep says.')
    }
  }
}
