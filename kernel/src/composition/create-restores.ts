import type { NodeRestores } from '@nodekeep/plugin-sdk'
import { restoresOf } from '../backup/restores.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { findInstalledPlugins, findPluginFolders } from '../plugins/installed-plugins.ts'
import { kernelVersion } from '../system/kernel-version.ts'

/** Makes the restores of the node with this configuration, which may not run. */
export function createRestores(configuration: Configuration): NodeRestores {
  return restoresOf(configuration.kernel.data, {
    version: kernelVersion,
    async folders() {
      const folders = await findPluginFolders(configuration)
      return folders.map(({ plugin, key, path }) => ({ plugin, key, path }))
    },
    async plugins() {
      const installed = await findInstalledPlugins(configuration)
      return installed.map(({ entry, manifest }) => ({ id: entry.id, version: manifest.version }))
    },
  })
}
