import { resolve } from 'node:path'
import type { NodeFolder } from '@nodekeep/plugin-sdk'
import type { Configuration } from '../configuration/configuration.ts'
import type { PluginEntry } from '../configuration/plugin-entries.ts'
import { PluginFailure } from './failure.ts'
import { locatePlugin } from './locate-plugin.ts'
import type { PluginManifest } from './plugin-manifest.ts'

/** A plugin that the configuration enables, with the manifest of its package. */
interface InstalledPlugin {
  readonly entry: PluginEntry
  readonly manifest: PluginManifest
}

/** A folder that a plugin keeps outside of its own, and the section of the configuration that names it. */
interface PluginFolder extends NodeFolder {
  readonly section: string
}

/** Finds the enabled plugins, without importing them. A plugin whose package is missing or broken is left out. */
export async function findInstalledPlugins({ plugins }: Configuration): Promise<InstalledPlugin[]> {
  const found = await Promise.all(plugins.filter(({ enabled }) => enabled).map(locate))
  return found.flat()
}

async function locate(entry: PluginEntry): Promise<InstalledPlugin[]> {
  try {
    return [{ entry, manifest: await locatePlugin(entry) }]
  } catch (error) {
    if (error instanceof PluginFailure) return []
    throw error
  }
}

/**
 * Finds the folders that the manifests of the enabled plugins declare, without importing the plugins.
 *
 * @param dataFolder the folder from which relative paths start
 * @throws ConfigurationError if a key that names a folder is wrong
 */
export async function findPluginFolders(
  configuration: Configuration,
  dataFolder: string = configuration.kernel.data,
): Promise<PluginFolder[]> {
  return (await findInstalledPlugins(configuration)).flatMap(({ entry, manifest }) => {
    if (manifest.folders.size === 0) return []
    const { section } = manifest
    const configured = configuration.paths(section, [...manifest.folders.keys()])
    return [...manifest.folders].map(([key, otherwise]) => {
      return { plugin: entry.id, section, key, path: resolve(dataFolder, configured.get(key) ?? otherwise) }
    })
  })
}
