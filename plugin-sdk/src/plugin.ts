import type { Static, TObject, TSchema } from 'typebox'
import type { SetupContext } from './context.ts'
import {
  checkedId,
  type Provided,
  type RegistryMap,
  type Requirement,
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
 * @throws TypeError for a field that is missing, unknown or of a wrong type
 */
export function definePlugin<
  Config extends TObject = TObject<None>,
  Requires extends RequirementMap = None,
  Optional extends RequirementMap = None,
  Contributes extends RegistryMap = None,
  Provides extends ServiceMap = None,
>(definition: PluginDefinition<Config, Requires, Optional, Contributes, Provides>): Plugin {
  refuseInvalid(definition)
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

const maps = ['requires', 'optional', 'contributes', 'provides'] as const
const fields: readonly string[] = ['id', 'description', 'config', ...maps, 'setup']

/** Plugins in JavaScript are not held to types. */
function refuseInvalid(
  definition: Partial<Record<(typeof maps)[number] | 'config' | 'setup', unknown>>,
): void {
  const refuse: (problem: string) => never = (problem) => {
    throw new TypeError(`definePlugin: ${problem}`)
  }
  if (!isObject(definition)) refuse('pass one object, with "id" and "setup".')
  const unknown = Object.keys(definition).find((name) => !fields.includes(name))
  if (unknown !== undefined) {
    refuse(`"${unknown}" is not a field of a plugin. The fields are ${fields.join(', ')}.`)
  }
  if (typeof definition.setup !== 'function') refuse('"setup" is missing, or not a function.')
  const { config } = definition
  if (config !== undefined && !(isObject(config) && config.type === 'object')) {
    refuse('"config" must be the schema of an object: Type.Object({ … }).')
  }
  for (const list of maps) {
    const declared = definition[list] ?? {}
    if (!isObject(declared)) {
      refuse(
        `"${list}" must be an object: names of your choice, and the services or registries that they stand for.`,
      )
    }
    for (const [name, token] of Object.entries(declared)) {
      if (!isToken(token)) {
        refuse(
          `the value of "${name}" in "${list}" is not a service or registry. Use the result of defineService or defineRegistry.`,
        )
      }
      const { kind } = token
      if (list === 'contributes' && kind === 'service') refuse(`"${name}" in "${list}" is not a registry.`)
      if (list === 'provides' && kind === 'registry') refuse(`"${name}" in "${list}" is not a service.`)
    }
  }
  const { requires, optional } = definition
  const twice = isObject(optional) && Object.keys(requires ?? {}).find((name) => name in optional)
  if (twice) refuse(`"${twice}" is in "requires" and in "optional". Remove one of them.`)
}

/** Whether a value is a service or a registry. */
export function isToken(value: unknown): value is Requirement {
  if (!isObject(value)) return false
  const { kind, id, major } = value
  return (kind === 'service' || kind === 'registry') && typeof id === 'string' && typeof major === 'number'
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Tells whether a value was created by `definePlugin`, of this copy of the SDK or of another one. */
export function isPlugin(value: unknown): value is Plugin {
  return typeof value === 'object' && value !== null && (value as { [brand]?: unknown })[brand] === true
}
