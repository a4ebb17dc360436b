import type { FastifyBaseLogger } from 'fastify'
import type { EventBus } from './event.ts'
import type { Routes } from './routes.ts'
import type { Contributed, RegistryMap, Required, RequirementMap } from './service.ts'
import type { Migrate, StateStore } from './state.ts'

/** A structured logger: `log.info({ note: 7 }, 'note stored')`. Each line names the plugin. */
export type Log = FastifyBaseLogger

/** What every plugin gets, whatever it declared. */
export interface BaseContext<Config> {
  /** The id under which configuration loads this instance; several instances of one plugin have different ones. */
  readonly id: string
  /** The plugin's section of the configuration: validated, with defaults applied. */
  readonly config: Config
  readonly log: Log
  /** A folder of the plugin's own. It exists. */
  readonly dataDir: string
  /**
   * The data folder of the whole node. Only for what people are meant to find there under a name of its own, such as
   * their files; everything else belongs into `dataDir`.
   */
  readonly nodeDataDir: string
  readonly state: StateStore
  readonly events: EventBus
  /** Aborted when the plugin is to stop, also while it is still setting up. */
  readonly signal: AbortSignal
  readonly routes: Routes
  readonly migrations: Migrate
  /** Runs after every plugin is set up and before the node listens. A failure counts as the plugin's. */
  onStart(hook: () => void | Promise<void>): void
  /**
   * Runs when the plugin stops, last registered first, each within `loader.stopTimeoutMs`; at once when the plugin
   * has stopped already, as after a setup that took too long.
   */
  onStop(hook: () => void | Promise<void>): void
}

/** What `setup` gets: the base, and under its own names what the plugin declared. */
export type SetupContext<
  Config,
  Requires extends RequirementMap,
  Optional extends RequirementMap,
  Contributes extends RegistryMap,
> = BaseContext<Config> & { readonly [K in keyof Requires]: Required<Requires[K]> } & {
  readonly [K in keyof Optional]: Required<Optional[K]> | undefined
} & { readonly [K in keyof Contributes]: Contributed<Contributes[K]> }
