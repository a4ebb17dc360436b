import { HealthChecks, tokenKey } from '@nodekeep/plugin-sdk'
import { ConfigurationError } from '../configuration/index.ts'
import { BootFailure } from '../plugins/boot-failure.ts'
import { PluginFailure } from '../plugins/failure.ts'
import { loadPlugins, movedSections, sectionName } from '../plugins/load-plugins.ts'
import { logImpaired } from '../plugins/log-impaired.ts'
import { readSwitchedOff } from '../plugins/plugin-switch.ts'
import { checkServiceChoices } from '../plugins/service-choices.ts'
import { kernelServices } from '../services/kernel-services.ts'
import type { KernelCradle } from './cradle.ts'
import { logUnknownChecks } from './required-checks.ts'

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
  for (const record of cradle.wiring.indispensable()) {
    if (record.state !== 'disabled' || !record.wish.enabled) continue
    log.warn(
      { plugin: record.id },
      `"${record.id}" was switched off at run time, but a required plugin needs it.`,
    )
    record.stopped()
  }
  checkServiceChoices(configuration.serviceChoices, records.list, kernelServices)
  checkSections(cradle)
  await pluginHost.bringUp()
  const impaired = records.list.filter(({ state }) => state !== 'active' && state !== 'disabled')
  logImpaired(
    log,
    impaired.filter(({ wish }) => !wish.required),
  )
  const missing = impaired.filter(({ wish }) => wish.required)
  if (missing.length > 0) throw new BootFailure(missing)
  logUnknownChecks(log, configuration.kernel.health.required, checkNames(cradle))
}

function checkNames({ registries }: KernelCradle): string[] {
  return registries.entries(tokenKey(HealthChecks)).names()
}

/** Validates every section before any plugin runs, and tells the log which values are secret. */
function checkSections(cradle: KernelCradle): void {
  const { configuration, records, secrets } = cradle
  for (const record of records.list) {
    if (!record.isCandidate || record.plugin === null) continue
    try {
      configuration.section(sectionName(record), record.plugin.config)
    } catch (error) {
      record.failed(PluginFailure.from('configuration', error))
    }
  }
  for (const secret of configuration.secretValues()) secrets.add(secret)
  refuseUnknownSections(cradle)
}

/** A plugin that was not found may own a section of any name, so then an unknown section stops nothing. */
function refuseUnknownSections({ configuration, records: { list }, log }: KernelCradle): void {
  try {
    configuration.refuseUnknownSections(list.map(sectionName), movedSections(list))
  } catch (error) {
    const lost = list.filter(({ manifest }) => manifest === null).map(({ id }) => `"${id}"`)
    if (!(error instanceof ConfigurationError) || lost.length === 0) throw error
    log.warn(`${error.message} It may belong to a plugin that was not found: ${lost.join(', ')}.`)
  }
}
