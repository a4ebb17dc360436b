import { resolve, sep } from 'node:path'
import { type NodeSources, restartOnChange } from '@nodekeep/plugin-sdk/node-process'
import type { Configuration } from '../../configuration/configuration.ts'
import { findInstalledPlugins, findPluginFolders } from '../../plugins/installed-plugins.ts'
import { namedFolder } from '../../plugins/locate-plugin.ts'
import { nodeProgram } from '../../system/node-program.ts'
import { argumentsOf, type ConfigurationOptions } from '../common/configuration-options.ts'
import { printLines } from '../common/print-lines.ts'
import { readConfiguration } from '../common/read-configuration.ts'

/**
 * `nodekeep start --watch`. Watches the files of the configuration, and the plugins that somebody may be working on: those that the
 * configuration names by `from`, and in a checkout those of the repository.
 */
export function startAndWatch(options: ConfigurationOptions): Promise<never> {
  let former: Omit<NodeSources, 'files'> = { plugins: new Map(), data: [] }
  return restartOnChange({
    program: nodeProgram,
    args: ['start', '--watched', ...argumentsOf(options)],
    async readSources() {
      const files = new Set<string>()
      // A file that is made later is read by the next start.
      if (options.config === undefined) files.add(resolve('nodekeep.json'))
      const add = (file: string) => {
        if (!isInstalled(file)) files.add(file)
      }
      try {
        former = await pluginsOf(await readConfiguration(options, process, add))
      } catch {
        // The node itself tells what is wrong. The plugins stay those of before.
      }
      return { files, ...former }
    },
    tell: (line) => printLines([`nodekeep: ${line}`], process.stderr),
  })
}

async function pluginsOf(configuration: Configuration): Promise<Omit<NodeSources, 'files'>> {
  const plugins = new Map<string, boolean>()
  // The folder of a package that cannot be read is watched, too.
  for (const entry of configuration.plugins) {
    const folder = namedFolder(entry)
    if (entry.enabled && folder !== null) plugins.set(folder, false)
  }
  for (const { entry, manifest } of await findInstalledPlugins(configuration)) {
    if (entry.from !== null || !isInstalled(manifest.folder)) {
      plugins.set(manifest.folder, !/\.[cm]?ts$/.test(manifest.entry))
    }
  }
  const folders = await findPluginFolders(configuration)
  return { plugins, data: [configuration.kernel.data, ...folders.map(({ path }) => path)] }
}

/** Whether a file came with a package that somebody has installed. */
function isInstalled(path: string): boolean {
  return path.split(sep).includes('node_modules')
}
