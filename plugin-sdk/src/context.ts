import type { FastifyBaseLogger } from 'fastify'
import type { Restored } from './contracts/restores.ts'
import type { EventBus } from './event.ts'
import type { Routes } from './routes.ts'
import type { Contributed, RegistryMap, Required, RequirementMap } from './service.ts'
import type { Migrate, StateStore } from './state.ts'

/** A structured logger: `log.info({ note: 7 }, 'note stored')`. Each line names the plugin. */
export type Log = FastifyBaseLogger

/** The fields of the setup context that every plugin gets. */
export interface BaseContext<Config> {
  /** The id under which the configuration loads this instance. Several instances of one plugin have different ids. */
  readonly id: string
  /** The plugin's section of the configuration: validated, with defaults applied. */
  readonly config: Config
  readonly log: Log
  /** The plugin's own folder. It exists. */
  readonly dataDir: string
  /**
   * The data folder of the whole node. Use it only for data that people should find there, such as their files. Store
   * everything else in `dataDir`.
   */
  readonly nodeDataDir: string
  readonly state: StateStore
  /**
   * The restore from which the node has just started, until the plugin acknowledges it; `null` in all other cases. A plugin
   * that keeps something outside the backup, such as a journal or a peer's cursor, compares it with the restored state.
   */
  readonly restored: Restored | null
  /**
   * Another text whenever another version of the plugin or of the node ran last, also after a rollback. Data that the plugin makes
   * from other data, such as an index, is stale if it was made in another generation: the other version did not keep it.
   */
  readonly generation: string
  /**
   * Returns the path of a SQLite database of the plugin, `<dataDir>/<name>.sqlite`, for data that `state` does not fit. It
   * makes an empty file that only the node's account can read, if there is none. Open it with `node:sqlite`, in any thread
   * of this process, and set `PRAGMA journal_mode = WAL`. The node copies it for backups and updates while it is in use.
   *
   * Never open the file in another way, such as with `fs`: closing it would drop SQLite's locks, and writes get lost.
   *
   * @param name lower-case letters, digits and dashes, at most 100 characters
   * @param options with `inBackups: false`, the file is in the folder `not-in-backups` of `dataDir`, and backups leave it
   * out: for data that can be made again, or that fits this machine only. With `newIfDamaged`, a damaged file is set aside as
   * `<name>.sqlite.damaged`, and an empty one is in its place. The option says in a sentence for the log what that costs
   * @throws TypeError when the name is not valid; Error when the file cannot be made
   */
  sqliteFile(name: string, options?: { readonly inBackups?: boolean; readonly newIfDamaged?: string }): string
  readonly events: EventBus
  /**
   * Aborted when the plugin must stop, also during its setup. The reason is a NodekeepError with SERVICE_UNAVAILABLE, so a request
   * that cannot be finished may throw it.
   */
  readonly signal: AbortSignal
  readonly routes: Routes
  readonly migrations: Migrate
  /** Runs after every plugin is set up and before the node listens. A failure counts as the plugin's. */
  onStart(hook: () => void | Promise<void>): void
  /**
   * Runs when clients can reach the node, or at once when the plugin starts later. Everything that reaches out belongs
   * here: schedules, outbound connections, scans, and the removal of old data. A node on trial, as during an update, is set
   * up and started without this step, so it leaves no trace. Begin long work here without waiting for its end. A failure
   * counts as the plugin's.
   */
  onServing(hook: () => void | Promise<void>): void
  /**
   * Runs when the plugin stops. The last registered hook runs first, and each has `loader.stopTimeoutMs`. When the plugin
   * has stopped already, as after a setup that took too long, the hook runs at once.
   */
  onStop(hook: () => void | Promise<void>): void
}

/** The argument of `setup`: the base, and the plugin's declarations under the names that it chose. */
export type SetupContext<
  Config,
  Requires extends RequirementMap,
  Optional extends RequirementMap,
  Contributes extends RegistryMap,
> = BaseContext<Config> & { readonly [K in keyof Requires]: Required<Requires[K]> } & {
  readonly [K in keyof Optional]: Required<Optional[K]> | undefined
} & { readonly [K in keyof Contributes]: Contributed<Contributes[K]> }
