import { mkdirSync } from 'node:fs'
import type { BaseContext, Disposer, Log, Plugin } from '@nodekeep/plugin-sdk'
import { preparePluginDatabase } from '@nodekeep/plugin-sdk/data-folder'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import type { LastRestore } from '../backup/restores.ts'
import type { Configuration } from '../configuration/configuration.ts'
import type { Secrets } from '../log/secrets.ts'
import type { Contributions } from '../services/contributions.ts'
import type { KernelEventBus } from '../services/event-bus.ts'
import { createRegistryReader, type Registries } from '../services/registry.ts'
import { setAsideIfDamaged } from '../state/damaged-database.ts'
import type { StateDatabase } from '../state/database.ts'
import { createMigrate } from '../state/migrate.ts'
import type { StateStores } from '../state/state-stores.ts'
import { PluginFailure } from './failure.ts'
import type { PluginRecord } from './plugin-record.ts'

/** The parts of the kernel that the setup context of a plugin gives access to. */
export interface SetupServices {
  readonly configuration: Configuration
  readonly secrets: Secrets
  readonly database: StateDatabase
  readonly stateStores: StateStores
  /** The last restore that was applied; `null` if there was none. */
  readonly lastRestore: LastRestore | null
  readonly eventBus: KernelEventBus
  readonly registries: Registries
  /** The services that are available now, by token key. */
  readonly services: Map<string, unknown>
  readonly pluginLog: Log
  readonly pluginDataDir: string
}

/** The parts of one activation that its setup context gives access to. */
interface ActivationAccess
  extends Pick<BaseContext<unknown>, 'signal' | 'onStart' | 'onServing' | 'onStop' | 'routes'> {
  onDispose(dispose: Disposer): void
  readonly contributions: Contributions
}

/**
 * Creates the argument of `setup`: the fields that every plugin gets, and the plugin's declarations under the names
 * that it chose.
 *
 * @throws PluginFailure in the phase `configuration` or `shape`
 */
export function createSetupContext(
  kernel: SetupServices,
  record: PluginRecord,
  plugin: Plugin,
  activation: ActivationAccess,
): BaseContext<unknown> {
  const base = baseContext(kernel, record, plugin, activation)
  const declared = new Map<string, unknown>()
  const declare = (name: string, value: unknown) => {
    if (name in base || declared.has(name)) {
      throw new PluginFailure(
        'shape',
        `It declares the name "${name}" twice, or the name is one that every setup context has.`,
      )
    }
    declared.set(name, value)
  }
  const { registries, services } = kernel
  for (const [name, token] of Object.entries({ ...plugin.optional, ...plugin.requires })) {
    const key = tokenKey(token)
    const reader = () =>
      createRegistryReader(registries.entries(key), (dispose) => activation.onDispose(dispose))
    declare(name, token.kind === 'registry' ? reader() : services.get(key))
  }
  for (const [name, token] of Object.entries(plugin.contributes)) {
    declare(name, activation.contributions.writer(token))
  }
  return new Proxy({ ...base, ...Object.fromEntries(declared) }, refuseUndeclared)
}

/** Without it, an undeclared registry would be `undefined`, and the plugin would fail with `reading 'add'`. */
const refuseUndeclared: ProxyHandler<BaseContext<unknown>> = {
  get(context, name, receiver) {
    // Promises and JSON look for methods that no object needs to have.
    if (typeof name === 'symbol' || name in context || name === 'then' || name === 'toJSON') {
      return Reflect.get(context, name, receiver)
    }
    throw new TypeError(
      `The setup context has no "${name}". Declare a registry to which you add entries in "contributes", and a service or registry ` +
        'that you use in "requires" or "optional", each under the name that you use.',
    )
  },
}

function baseContext(
  kernel: SetupServices,
  record: PluginRecord,
  plugin: Plugin,
  activation: ActivationAccess,
): BaseContext<unknown> {
  const { configuration, database, stateStores, eventBus, pluginLog, pluginDataDir } = kernel
  mkdirSync(pluginDataDir, { recursive: true, mode: 0o700 })
  const events = eventBus.scope(pluginLog)
  activation.onDispose(() => events.close())
  const { id, generation } = record
  const { signal } = activation
  return {
    id,
    config: readSection(kernel, record, plugin),
    log: pluginLog,
    dataDir: pluginDataDir,
    nodeDataDir: configuration.kernel.data,
    state: stateStores.for(id),
    restored: kernel.lastRestore?.restored(id) ?? null,
    generation,
    sqliteFile(name, options) {
      const file = preparePluginDatabase(pluginDataDir, name, options)
      if (options?.newIfDamaged !== undefined) renewIfDamaged(file, options.newIfDamaged, pluginLog)
      return file
    },
    events,
    signal,
    routes: activation.routes,
    migrations: createMigrate(database, id, {
      timeoutMs: configuration.kernel.loader.setupTimeoutMs,
      signal,
    }),
    onStart: (hook) => activation.onStart(hook),
    onServing: (hook) => activation.onServing(hook),
    onStop: (hook) => activation.onStop(hook),
  }
}

/** @param cost what the loss costs, as a sentence */
function renewIfDamaged(file: string, cost: string, log: Log): void {
  const damaged = setAsideIfDamaged(file)
  if (damaged === null) return
  const { reason, path: setAside } = damaged
  log.warn({ file, setAside, reason }, `${file} is damaged, and the plugin begins with a new one. ${cost}`)
}

function readSection(
  { configuration, secrets }: SetupServices,
  { claim, manifest }: PluginRecord,
  { config }: Plugin,
): unknown {
  try {
    const section = configuration.section(claim.section, config, manifest?.folders.keys())
    // The section of a plugin that is switched on at run time is read here for the first time.
    for (const secret of configuration.secretValues()) secrets.add(secret)
    return section
  } catch (error) {
    throw PluginFailure.from('configuration', error)
  }
}
