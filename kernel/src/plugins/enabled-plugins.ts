import type { Configuration } from '../configuration/configuration.ts'
import type { PluginEntry } from '../configuration/plugin-entries.ts'
import { PluginFailure } from './failure.ts'
import { locatePlugin, type PluginManifest } from './locate-plugin.ts'

/** A plugin that the configuration enables, with the manifest of its package. */
interface EnabledPlugin {
  readonly entry: PluginEntry
  readonly manifest: PluginManifest
}

/**
 * Finds the enabled plugins, without importing them. A plugin whose package is missing or broken is left out.
 */
export async function findEnabledPlugins({
  plugins,
}: Pick<Configuration, 'plugins'>): Promise<EnabledPlugin[]> {
  const enabled = plugins.filter((entry) => entry.enabled)
  const found = await Promise.all(
    enabled.map(async (entry) => ({ entry, manifest: await manifestOf(entry) })),
  )
  return found.flatMap(({ entry, manifest }) => (manifest === null ? [] : [{ entry, manifest }]))
}

async function manifestOf(entry: PluginEntry): Promise<PluginManifest | null> {
  try {
    return await locatePlugin(entry)
  } catch (error) {
    if (error instanceof PluginFailure) return null
    throw error
  }
}
