import { resolve } from 'node:path'
import type { NodeFolder } from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration/configuration.ts'
import type { PluginEntry } from '../configuration/plugin-entries.ts'
import { findEnabledPlugins } from './enabled-plugins.ts'
import type { PluginManifest } from './locate-plugin.ts'

/** A folder that a plugin keeps outside of its own, and the section of the configuration that names it. */
interface PluginFolder extends NodeFolder {
  readonly section: string
}

/**
 * Finds the folders that the manifests of the enabled plugins declare, without importing the plugins. A plugin whose package is
 * missing or broken is left out.
 *
 * @param dataFolder the folder from which relative paths start
 * @throws ConfigurationError if a key that names a folder is wrong
 */
export async function findPluginFolders(
  configuration: Configuration,
  dataFolder: string = configuration.kernel.data,
): Promise<readonly PluginFolder[]> {
  return (await findEnabledPlugins(configuration)).flatMap(({ entry, manifest }) =>
    foldersOf(configuration, entry, manifest, dataFolder),
  )
}

function foldersOf(
  configuration: Configuration,
  entry: PluginEntry,
  manifest: PluginManifest,
  dataFolder: string,
): PluginFolder[] {
  if (manifest.folders.size === 0) return []
  const section = manifest.id === entry.id ? manifest.section : entry.id
  const configured = configuration.paths(section, [...manifest.folders.keys()])
  return [...manifest.folders].map(([key, otherwise]) => {
    return { plugin: entry.id, section, key, path: resolve(dataFolder, configured.get(key) ?? otherwise) }
  })
}
