import type { Plugin } from '@nodekeep/plugin-sdk'
import type { Configuration, PluginEntry } from '../configuration/index.ts'
import { checkSectionClaims, type SectionClaim } from '../configuration/index.ts'
import { runInContextOf } from '../faults/fault-context.ts'
import { PluginFailure } from './failure.ts'
import { importPlugin, sdkVersion } from './import-plugin.ts'
import { locatePlugin } from './locate.ts'
import { PluginRecord } from './plugin-record.ts'
import { checkDeclarations } from './plugin-shape.ts'

export interface LoadOptions {
  readonly configuration: Configuration
  /** Plugins that are at hand and need no package, by id. */
  readonly inline: Readonly<Record<string, Plugin>>
  /** Ids that were switched off at run time. */
  readonly switchedOff: ReadonlySet<string>
  readonly onFault: (record: PluginRecord, thrown: unknown) => void
}

/**
 * Finds and imports every enabled plugin, at the same time. What fails is kept in its record.
 *
 * @throws ConfigurationError when two plugins claim one configuration section
 */
export async function loadPlugins(options: LoadOptions): Promise<PluginRecord[]> {
  const { configuration, inline, switchedOff } = options
  const named = new Set(configuration.plugins.map(({ id }) => id))
  const unnamed = Object.keys(inline).filter((id) => !named.has(id))
  const wishes = [...configuration.plugins, ...unnamed.map((id) => inlineEntry(id, configuration))]
  const records = wishes.map((wish) => new PluginRecord(wish, options.onFault))
  for (const record of records) {
    if (record.wish.enabled && !record.wish.required && switchedOff.has(record.id)) {
      record.disabled('switched off at run time')
    }
  }
  const timeoutMs = configuration.kernel.loader.importTimeoutMs
  await Promise.all(records.map((record) => load(record, inline[record.id], timeoutMs)))
  checkSectionClaims(records.flatMap(sectionClaim))
  return records
}

/** The name of a plugin's configuration section: the one that it declares, unless it goes by another id. */
export function sectionName({ id, manifest }: PluginRecord): string {
  return manifest !== null && manifest.id === id ? manifest.section : id
}

/** The plugins whose section is not called like them: their ids, each with its section. */
export function movedSections(records: readonly PluginRecord[]): ReadonlyMap<string, string> {
  const sections = new Set(records.map(sectionName))
  return new Map(
    records.filter(({ id }) => !sections.has(id)).map((record) => [record.id, sectionName(record)] as const),
  )
}

async function load(record: PluginRecord, inline: Plugin | undefined, timeoutMs: number): Promise<void> {
  try {
    if (inline !== undefined) {
      record.manifest = {
        packageName: record.id,
        version: '0.0.0',
        id: inline.id,
        sdk: sdkVersion,
        section: inline.id,
        folder: '',
        entry: '',
      }
      checkDeclarations(inline)
      record.plugin = inline
      return
    }
    const manifest = await locatePlugin(record.wish)
    record.manifest = manifest
    // A plugin that was switched off at run time may be switched on again, so it is imported.
    if (!record.wish.enabled) return
    record.plugin = await runInContextOf(record, () => importPlugin(manifest, timeoutMs))
  } catch (error) {
    const failure = PluginFailure.from('locate', error)
    if (record.state === 'disabled') record.notLoaded(failure)
    else record.failed(failure)
  }
}

function sectionClaim(record: PluginRecord): SectionClaim[] {
  if (record.manifest === null || record.state === 'disabled') return []
  return [{ plugin: record.id, section: sectionName(record) }]
}

function inlineEntry(id: string, { folder }: Configuration): PluginEntry {
  return { id, enabled: true, from: null, required: true, folder, where: 'the embedding program' }
}
