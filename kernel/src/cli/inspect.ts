import type { TObject } from 'typebox'
import { type Configuration, ConfigurationError } from '../configuration/index.ts'
import { loadPlugins, movedSections, sectionName } from '../plugins/load-plugins.ts'
import type { PluginRecord } from '../plugins/plugin-record.ts'
import { readSwitchedOff } from '../plugins/plugin-switch.ts'
import { checkServiceChoices } from '../plugins/service-choices.ts'
import { ServiceWiring } from '../plugins/service-wiring.ts'
import { kernelServices } from '../services/kernel-services.ts'
import { withStoredState } from '../state/stored-state.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { readConfiguration } from './read-configuration.ts'

/** A configuration with its plugins imported, but nothing started: it may be inspected beside a running node. */
export interface Inspection {
  readonly configuration: Configuration
  readonly records: readonly PluginRecord[]
  /** The configuration section of each loaded plugin. */
  readonly schemas: ReadonlyMap<string, TObject>
  /** Plugins that were switched off at run time. */
  readonly switchedOff: ReadonlySet<string>
}

/** @throws ConfigurationError */
export async function inspect(options: ConfigurationOptions): Promise<Inspection> {
  const configuration = await readConfiguration(options)
  const switchedOff = await withStoredState(
    configuration.kernel.data,
    '@kernel',
    readSwitchedOff,
    new Set<string>(),
  )
  const records = await loadPlugins({ configuration, inline: {}, switchedOff, onFault: () => {} })
  const schemas = new Map<string, TObject>()
  for (const record of records) {
    if (record.plugin?.config != null) schemas.set(sectionName(record), record.plugin.config)
  }
  findBlocked(configuration, records)
  return { configuration, records, schemas, switchedOff }
}

/** Has the records say who could not be set up, as a start would find it. */
function findBlocked({ kernel }: Configuration, records: readonly PluginRecord[]): void {
  const wiring = new ServiceWiring(() => records, kernelServices, kernel.services)
  // A start switches them on again.
  for (const record of wiring.indispensable()) {
    if (record.state === 'disabled' && record.wish.enabled) record.stopped()
  }
  for (const [id, reason] of wiring.order().blocked)
    records.find((record) => record.id === id)?.blocked(reason)
}

/**
 * Looks for everything that would keep the node from starting, without starting it.
 *
 * @throws ConfigurationError with all of it
 */
export function checkAll({ configuration, records }: Inspection): void {
  const problems: string[] = []
  const attempt = (check: () => unknown) => {
    try {
      check()
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      problems.push(...error.problems)
    }
  }
  for (const record of records) {
    if (record.plugin !== null)
      attempt(() => configuration.section(sectionName(record), record.plugin?.config ?? null))
    const isMissing = record.state === 'failed' || (record.state === 'blocked' && record.wish.required)
    if (isMissing) problems.push(`"${record.id}" (${record.wish.where}): ${record.reason}`)
  }
  attempt(() => checkServiceChoices(configuration.serviceChoices, records, kernelServices))
  attempt(() => configuration.refuseUnknownSections(records.map(sectionName), movedSections(records)))
  if (problems.length > 0) throw new ConfigurationError(problems)
}
