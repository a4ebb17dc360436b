import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Log, Plugin } from '@nodekeep/plugin-sdk'
import { type AwilixContainer, asFunction, asValue } from 'awilix/browser'
import { Activation } from '../plugins/activation.ts'
import { PluginFailure } from '../plugins/failure.ts'
import { sectionName } from '../plugins/load-plugins.ts'
import type { NewActivation } from '../plugins/plugin-host.ts'
import type { PluginRecord } from '../plugins/plugin-record.ts'
import { PluginRoutes } from '../plugins/plugin-routes.ts'
import { createSetupContext } from '../plugins/setup-context.ts'
import { Contributions } from '../services/contributions.ts'
import { createMigrate } from '../state/migrate.ts'
import type { KernelCradle, PluginCradle } from './cradle.ts'

/** Composes one life of a plugin in a scope of its own. */
export function createPluginActivation(
  container: AwilixContainer<KernelCradle>,
  record: PluginRecord,
  plugin: Plugin,
  offers: ReadonlySet<string>,
): NewActivation {
  const scope = pluginScope(container, record)
  const { configuration, registries, services, routeTable, createApp, pluginLog } = scope.cradle
  const contributions = new Contributions(registries, record.id)
  const routes = new PluginRoutes(record, routeTable, (onAdmitted) => createApp(pluginLog, onAdmitted))
  const { loader, server } = configuration.kernel
  const activation = new Activation({
    id: record.id,
    plugin,
    offers,
    services,
    contributions,
    routes,
    limits: { ...loader, drainMs: server.drainSeconds * 1000 },
  })
  return {
    activation,
    createContext() {
      const { eventBus, database, stateStores, pluginDataDir } = scope.cradle
      mkdirSync(pluginDataDir, { recursive: true, mode: 0o700 })
      const events = eventBus.scope(pluginLog)
      activation.onDispose(() => events.close())
      return createSetupContext({
        plugin,
        activation,
        registries,
        services,
        contributions,
        base: {
          id: record.id,
          config: readSection(scope.cradle, record, plugin),
          log: pluginLog,
          dataDir: pluginDataDir,
          nodeDataDir: configuration.kernel.data,
          state: stateStores.for(record.id),
          events,
          routes: routes.add,
          migrations: createMigrate(database, record.id, {
            timeoutMs: loader.setupTimeoutMs,
            signal: activation.signal,
          }),
        },
      })
    },
  }
}

/** @throws PluginFailure in the phase `configuration` */
function readSection(
  { configuration, secrets }: PluginCradle,
  record: PluginRecord,
  plugin: Plugin,
): unknown {
  try {
    const section = configuration.section(sectionName(record), plugin.config)
    // One that is switched on at run time is read for the first time here.
    for (const secret of configuration.secretValues()) secrets.add(secret)
    return section
  } catch (error) {
    throw PluginFailure.from('configuration', error)
  }
}

function pluginScope(
  container: AwilixContainer<KernelCradle>,
  { id }: PluginRecord,
): AwilixContainer<PluginCradle> {
  const scope = container.createScope<PluginCradle>()
  scope.register({
    pluginId: asValue(id),
    pluginLog: asFunction(({ log }: KernelCradle): Log => log.child({ plugin: id })).scoped(),
    pluginDataDir: asFunction(({ configuration }: KernelCradle) =>
      join(configuration.kernel.data, 'plugins', id),
    ).scoped(),
  })
  return scope
}
