import { BootFailure } from '../plugins/boot-failure.ts'
import { PluginFailure } from '../plugins/failure.ts'
import { loadPlugins, sectionName } from '../plugins/load-plugins.ts'
import { readSwitchedOff } from '../plugins/plugin-switch.ts'
import type { KernelCradle } from './cradle.ts'

/**
 * Loads, configures, orders, sets up and starts all plugins.
 *
 * @throws ConfigurationError, or BootFailure with every required plugin that isn't up
 */
export async function bringUpPlugins(cradle: KernelCradle): Promise<void> {
  const { configuration, inlinePlugins, stateStores, log, pluginHost, records } = cradle
  records.list = await loadPlugins({
    configuration,
    inline: inlinePlugins,
    switchedOff: await readSwitchedOff(stateStores.for('@kernel')),
    onFault: (record, thrown) =>
      log.error({ plugin: record.id, err: thrown }, 'An error was left unhandled.'),
  })
  checkSections(cradle)
  await pluginHost.bringUp()
  for (const { id, state, phase, reason, wish } of records.list) {
    if (wish.required || state === 'active' || state === 'disabled') continue
    log.warn({ plugin: id, state, phase }, `The optional plugin "${id}" is ${state}: ${reason}`)
  }
  const missing = records.list.filter(
    ({ wish, state }) => wish.enabled && wish.required && state !== 'active',
  )
  if (missing.length > 0) throw new BootFailure(missing)
}

/** Validates every section before any plugin runs, and tells the log which values are secret. */
function checkSections({ configuration, records, secrets }: KernelCradle): void {
  for (const record of records.list) {
    if (!record.isCandidate || record.plugin === null) continue
    try {
      configuration.section(sectionName(record), record.plugin.config)
    } catch (error) {
      record.failed(PluginFailure.from('configuration', error))
    }
  }
  for (const secret of configuration.secretValues()) secrets.add(secret)
  configuration.refuseUnknownSections(
    records.list.flatMap((record) => [record.id, sectionName(record), record.manifest?.section ?? record.id]),
  )
}
