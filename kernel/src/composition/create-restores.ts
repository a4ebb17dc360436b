import { KernelRestores } from '../backup/restores.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { findEnabledPlugins } from '../plugins/enabled-plugins.ts'
import { findPluginFolders } from '../plugins/plugin-folders.ts'
import { kernelVersion } from '../system/kernel-version.ts'

/** Makes the restores of the node with this configuration, which may not run. */
export function createRestores(configuration: Configuration): KernelRestores {
  return new KernelRestores(configuration.kernel.data, {
    version: kernelVersion,
    folders: () => findPluginFolders(configuration),
    async plugins() {
      const enabled = await findEnabledPlugins(configuration)
      return enabled.map(({ entry, manifest }) => ({ id: entry.id, version: manifest.version }))
    },
  })
}
