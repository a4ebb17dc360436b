import type { Static, TObject, TSchema } from 'typebox'
import type { SetupContext } from './context.ts'
import {
  checkedId,
  type Provided,
  type RegistryMap,
  type RequirementMap,
  type ServiceMap,
} from './service.ts'

/** The default of a map of declarations. With `{}`, undeclared names would not be type errors. */
type None = Record<never, never>

/** The result of `setup`: nothing, or one implementation for each provided service. */
export type SetupResult<Provides extends ServiceMap> = keyof Provides extends never
  ? void
  : { readonly [K in keyof Provides]: Provided<Provides[K]> }

/** The argument of `definePlugin`. */
export interface PluginDefinition<
  Config extends TSchema,
  Requires extends RequirementMap,
  Optional extends RequirementMap,
  Contributes extends RegistryMap,
  Provides extends ServiceMap,
> {
  /** Lower case words joined by dashes; the same as `nodekeep.id` in the package's manifest. */
  readonly id: string
  /** One sentence for `nodekeep plugins list`. */
  readonly description?: string
  /** The schema of the plugin's configuration section: an object, where unknown keys are errors. */
  readonly config?: Config
  /** Services and registries to read. The plugin is set up only when every service has a provider. */
  readonly requires?: Requires
  /** Like `requires`, but a service without a provider is `undefined`. */
  readonly optional?: Optional
  /** Registries to add to. */
  readonly contributes?: Contributes
  /** Services to provide. `setup` returns them under these names. */
  readonly provides?: Provides
  /**
   * Sets the plugin up. Its routes, entries and services become visible together when `setup` has resolved, for which it
   * has `loader.setupTimeoutMs`.
   */
  setup(
    context: SetupContext<Static<Config>, Requires, Optional, Contributes>,
  ): SetupResult<NoInfer<Provides>> | Promise<SetupResult<NoInfer<Provides>>>
}

const brand: unique symbol = Symbol.for('nodekeep.plugin@1')

/** A plugin as the kernel takes it: the definition without its types. */
export interface Plugin {
  readonly [brand]: true
  readonly id: string
  readonly description: string
  readonly config: TObject | null
  readonly requires: RequirementMap
  readonly optional: RequirementMap
  readonly contributes: RegistryMap
  readonly provides: ServiceMap
  setup(context: unknown): unknown
}

/**
 * Defines a plugin. A package exports it as its default export.
 *
 * @example
 * export default definePlugin({
 *   id: 'greeting',
 *   config: Type.Object({ word: Type.String({ default: 'Hello' }) }),
 *   setup({ config, routes }) {
 *     routes((app) => {
 *       app.get('/greeting', async () => ({ text: `${config.word}!` }))
 *     })
 *   },
 * })
 * @throws TypeError when the id is not lower case words joined by dashes
 */
export function definePlugin<
  Config extends TObject = TObject<None>,
  Requires extends RequirementMap = None,
  Optional extends RequirementMap = None,
  Contributes extends RegistryMap = None,
  Provides extends ServiceMap = None,
>(definition: PluginDefinition<Config, Requires, Optional, Contributes, Provides>): Plugin {
  return Object.freeze({
    [brand]: true as const,
    id: checkedId(definition.id),
    description: definition.description ?? '',
    config: definition.config ?? null,
    requires: definition.requires ?? {},
    optional: definition.optional ?? {},
    contributes: definition.contributes ?? {},
    provides: definition.provides ?? {},
    setup: (context: unknown) => definition.setup(context as Parameters<typeof definition.setup>[0]),
  })
}

/** Tells whether a value was created by `definePlugin`, of this copy of the SDK or of another one. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
}
