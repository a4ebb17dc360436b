import type { TObject } from 'typebox'
import { kernelServices } from '../../composition/compose.ts'
import type { Configuration } from '../../configuration/configuration.ts'
import { ConfigurationError } from '../../configuration/error.ts'
import { stackOf } from '../../errors/error-text.ts'
import { watchFaults } from '../../faults/fault-context.ts'
import { loadPlugins } from '../../plugins/load-plugins.ts'
import { faultSentence, type OnFault, PluginRecords } from '../../plugins/plugin-record.ts'
import { readSwitchedOff } from '../../plugins/plugin-switch.ts'
import { ServiceWiring } from '../../plugins/service-wiring.ts'
import { withStoredState } from '../../state/stored-state.ts'
import type { CommandProcess } from './command-process.ts'
import type { ConfigurationOptions } from './configuration-options.ts'
import { readConfiguration } from './read-configuration.ts'
import { watchCommand } from './watch-command.ts'

/** A configuration whose plugins are imported but not started. It can be inspected beside a running node. */
interface Inspection {
  readonly configuration: Configuration
  readonly records: PluginRecords
  readonly wiring: ServiceWiring
  /** The schema of the configuration section of each loaded plugin; `null` for a plugin without configuration. */
  readonly schemas: ReadonlyMap<string, TObject | null>
  /** Ids of the plugins that were switched off at run time. */
  readonly switchedOff: ReadonlySet<string>
}

/** @throws ConfigurationError */
export async function inspect(options: ConfigurationOptions, process: CommandProcess): Promise<Inspection> {
  const configuration = await readConfiguration(options, process)
  const switchedOff = await withStoredState(
    configuration.kernel.data,
    '@kernel',
    readSwitchedOff,
    new Set<string>(),
  )
  const records = new PluginRecords()
  watchCommand(process)
  // Node reports an unhandled rejection one turn later, so the watch goes on until the command ends.
  process.once(
    'exit',
    watchFaults((thrown, context) => records.originOf(thrown, context)),
  )
  records.loaded(
    await loadPlugins({ configuration, inlinePlugins: {}, switchedOff, onFault: faultReporter(process) }),
  )
  const schemas = new Map<string, TObject | null>()
  for (const { claim, plugin } of records.all) if (plugin !== null) schemas.set(claim.section, plugin.config)
  const wiring = new ServiceWiring(records, kernelServices, configuration.kernel.services)
  findBlocked(wiring, records)
  return { configuration, records, wiring, schemas, switchedOff }
}

/** Without a word, a plugin could end the command while it is imported, and a check would not see what it leaves behind. */
function faultReporter(process: CommandProcess): OnFault {
  return ({ id }, thrown, kind) => {
    const sentence =
      kind === 'exit' || kind === 'change'
        ? faultSentence(id, thrown, kind, 'command')
        : `The plugin "${id}" left an error unhandled while it was imported.`
    process.stderr.write(`nodekeep: ${sentence}\n`)
    if (kind === 'change') return
    process.stderr.write(`${stackOf(thrown)}\n`)
    process.exitCode = 1
  }
}

/** Marks the plugins that a start would find blocked. */
function findBlocked(wiring: ServiceWiring, records: PluginRecords): void {
  // A start switches these on again.
  for (const record of wiring.indispensable()) {
    if (record.state === 'disabled' && record.entry.enabled) record.stopped()
  }
  for (const [id, reason] of wiring.order().blocked) records.get(id)?.blocked(reason)
}

/** The result of a check of the configuration, with one line for each problem. */
interface Findings {
  readonly problems: readonly string[]
  /** Those of the problems that a start survives, since they are about optional plugins. */
  readonly optional: readonly string[]
}

/** Finds everything that would prevent a start, and optional plugins that fail, without starting the node. */
export function checkAll({ configuration, records, wiring }: Inspection): Findings {
  const problems: string[] = []
  const optional: string[] = []
  const attempt = (check: () => unknown) => {
    try {
      check()
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      problems.push(...error.problems)
    }
  }
  for (const record of records.all) {
    const { id, plugin, claim, state, entry, reason } = record
    if (plugin !== null) attempt(() => configuration.section(claim.section, plugin.config ?? null))
    const isMissing = state === 'failed' || (state === 'blocked' && entry.required)
    if (!isMissing) continue
    const problem = `"${id}" (${entry.where}): ${reason}`
    problems.push(problem)
    if (!entry.required) optional.push(problem)
  }
  attempt(() => wiring.check(configuration.serviceChoices))
  attempt(() => configuration.refuseUnknownSections(records.all.map(({ claim }) => claim)))
  return { problems, optional }
}
