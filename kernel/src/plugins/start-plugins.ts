import { HealthChecks, type Log, type NodeInfo, type Plugin } from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import type { Configuration } from '../configuration/configuration.ts'
import { ConfigurationError } from '../configuration/error.ts'
import type { Secrets } from '../log/secrets.ts'
import type { Registries } from '../services/registry.ts'
import type { StateStores } from '../state/state-stores.ts'
import { suggest } from '../validation/suggestion.ts'
import { BootFailure } from './boot-failure.ts'
import { PluginFailure } from './failure.ts'
import { readGenerations } from './generation.ts'
import { loadPlugins } from './load-plugins.ts'
import { logImpaired, type PluginHost } from './plugin-host.ts'
import { faultSentence, type OnFault, type PluginRecords } from './plugin-record.ts'
import { readSwitchedOff } from './plugin-switch.ts'
import type { ServiceWiring } from './service-wiring.ts'

/** The parts of the kernel that the start of the plugins uses. */
interface StartServices {
  readonly info: Pick<NodeInfo, 'version' | 'commit'>
  readonly configuration: Configuration
  /** Plugins that an embedding program passed and that need no package, by id. */
  readonly inlinePlugins: Readonly<Record<string, Plugin>>
  readonly stateStores: StateStores
  readonly log: Log
  readonly secrets: Secrets
  readonly registries: Registries
  readonly records: PluginRecords
  readonly wiring: ServiceWiring
  readonly pluginHost: PluginHost
}

/**
 * Starts all plugins: loads them, checks the configuration against them, then sets up and starts them in the order of
 * their services. Optional plugins that fail are logged and left out.
 *
 * @throws ConfigurationError, or BootFailure with every required plugin that is not up
 */
export async function startPlugins(kernel: StartServices): Promise<void> {
  const { configuration, inlinePlugins, stateStores, log, records, wiring, pluginHost } = kernel
  const switchedOff = await readSwitchedOff(stateStores.for('@kernel'))
  const onFault = faultLog(log)
  records.loaded(await loadPlugins({ configuration, inlinePlugins, switchedOff, onFault }))

  await tellGenerations(kernel)
  switchOnIndispensable(kernel)
  wiring.check(configuration.serviceChoices)
  checkSections(kernel)

  await pluginHost.bringUp()
  logImpaired(
    log,
    records.impaired.filter(({ entry }) => !entry.required),
  )
  refuseMissing(records)
  logUnknownChecks(kernel)
}

/**
 * Tells all plugins that clients can reach the node. Optional plugins that fail are logged and stopped.
 *
 * @throws BootFailure with every required plugin that is no longer up
 */
export async function letPluginsServe({
  pluginHost,
  records,
  log,
}: Pick<StartServices, 'pluginHost' | 'records' | 'log'>): Promise<void> {
  const failed = await pluginHost.serve()
  logImpaired(
    log,
    failed.filter(({ entry }) => !entry.required),
  )
  refuseMissing(records)
}

/** Logs the faults of plugins. */
function faultLog(log: Log): OnFault {
  return ({ id: plugin }, err, kind) => {
    if (kind === 'exit') log.fatal({ plugin, err }, faultSentence(plugin, err, kind, 'node'))
    else if (kind === 'change') log.warn({ plugin }, faultSentence(plugin, err, kind, 'node'))
    else if (err === undefined || err === null)
      log.error({ plugin }, `An error was left unhandled: ${err} was thrown instead of an error.`)
    else log.error({ plugin, err }, 'An error was left unhandled.')
  }
}

function refuseMissing({ impaired }: PluginRecords): void {
  const missing = impaired.filter(({ entry }) => entry.required)
  if (missing.length > 0) throw new BootFailure(missing)
}

async function tellGenerations({ info, stateStores, records }: StartServices): Promise<void> {
  const node = `${info.version} ${info.commit}`
  const versions = new Map<string, string>()
  for (const { id, plugin, manifest } of records.all)
    if (plugin !== null) versions.set(id, `${node} ${manifest?.version ?? '0.0.0'}`)
  const generations = await readGenerations(stateStores.for('@kernel'), versions)
  for (const record of records.all) record.generation = generations.get(record.id)?.generation ?? ''
}

/** A plugin that is switched off at run time starts all the same if a required plugin needs it now. */
function switchOnIndispensable({ wiring, log }: StartServices): void {
  for (const record of wiring.indispensable()) {
    if (record.state !== 'disabled' || !record.entry.enabled) continue
    log.warn(
      { plugin: record.id },
      `"${record.id}" was switched off at run time. It is switched on again, since a required plugin needs it.`,
    )
    record.stopped()
  }
}

/** Validates every section before any plugin runs, and tells the logger which values are secret. */
function checkSections({ configuration, records, secrets, log }: StartServices): void {
  for (const record of records.all) {
    if (!record.isCandidate || record.plugin === null) continue
    try {
      configuration.section(record.claim.section, record.plugin.config)
    } catch (error) {
      record.failed(PluginFailure.from('configuration', error))
    }
  }
  for (const secret of configuration.secretValues()) secrets.add(secret)
  try {
    configuration.refuseUnknownSections(records.all.map(({ claim }) => claim))
  } catch (error) {
    // A plugin that was not found may own a section of any name, so an unknown section is no error then.
    const lost = records.all.filter(({ isFound }) => !isFound).map(({ id }) => `"${id}"`)
    if (!(error instanceof ConfigurationError) || lost.length === 0) throw error
    log.warn(`${error.message} It may belong to a plugin that was not found: ${lost.join(', ')}.`)
  }
}

/** A check of `health.required` that does not exist makes the node count as down, so its name is logged. */
function logUnknownChecks({ configuration, registries, log }: StartServices): void {
  const known = registries.entries(tokenKey(HealthChecks)).names()
  for (const name of configuration.kernel.health.required) {
    if (known.includes(name)) continue
    log.error(
      { check: name, known },
      `"health.required" names the check "${name}", which does not exist, so /health answers 503. ${suggest(name, known)}`,
    )
  }
}
