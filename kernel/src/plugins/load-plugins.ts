import type { Plugin } from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration/configuration.ts'
import type { PluginEntry } from '../configuration/plugin-entries.ts'
import { checkSectionClaims } from '../configuration/sections.ts'
import { PluginFailure } from './failure.ts'
import { importPlugin } from './import-plugin.ts'
import { locatePlugin } from './locate-plugin.ts'
import { type OnFault, PluginRecord } from './plugin-record.ts'

interface LoadOptions {
  readonly configuration: Configuration
  /** Plugins that an embedding program passed and that need no package, by id. */
  readonly inlinePlugins: Readonly<Record<string, Plugin>>
  /** Ids of the plugins that were switched off at run time. */
  readonly switchedOff: ReadonlySet<string>
  readonly onFault: OnFault
}

/**
 * Finds and imports every enabled plugin, in parallel. A failure is kept in the plugin's record.
 *
 * @throws ConfigurationError when two plugins claim one configuration section
 */
export async function loadPlugins(options: LoadOptions): Promise<PluginRecord[]> {
  const { configuration, inlinePlugins, switchedOff, onFault } = options
  const named = new Set(configuration.plugins.map(({ id }) => id))
  const unnamed = Object.keys(inlinePlugins).filter((id) => !named.has(id))
  const entries = [...configuration.plugins, ...unnamed.map((id) => inlineEntry(id, configuration.folder))]
  const records = entries.map((entry) => new PluginRecord(entry, onFault))
  for (const record of records) {
    if (record.entry.enabled && !record.entry.required && switchedOff.has(record.id)) {
      record.disabled('switched off at run time')
    }
  }
  const timeoutMs = configuration.kernel.loader.importTimeoutMs
  await Promise.all(records.map((record) => load(record, inlinePlugins[record.id], timeoutMs)))
  const claiming = records.filter(({ isFound, state }) => isFound && state !== 'disabled')
  checkSectionClaims(claiming.map(({ claim }) => claim))
  return records
}

async function load(record: PluginRecord, inline: Plugin | undefined, timeoutMs: number): Promise<void> {
  try {
    if (inline !== undefined) {
      record.plugin = inline
      return
    }
    const manifest = await locatePlugin(record.entry)
    record.manifest = manifest
    // A plugin that was switched off at run time is imported too, since it may be switched on again.
    if (!record.entry.enabled) return
    record.plugin = await record.run(() => importPlugin(manifest, timeoutMs))
  } catch (error) {
    const failure = PluginFailure.from('locate', error)
    if (record.state === 'disabled') record.notLoaded(failure)
    else record.failed(failure)
  }
}

function inlineEntry(id: string, folder: string): PluginEntry {
  return { id, enabled: true, from: null, required: true, folder, where: 'the embedding program' }
}
