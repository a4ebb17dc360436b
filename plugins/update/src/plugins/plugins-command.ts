import { Command } from 'commander'
import type { PluginsOptions, Terminal } from './plugins-options.ts'

const actions = () => import('./manage-plugins.ts')

/**
 * `nodekeep plugins add|remove|outdated`. The kernel adds the options of the configuration.
 *
 * @param terminal makes the terminal of a command. Lists are JSON if its argument is true.
 */
export function pluginsCommand(terminal: (asJson: boolean) => Promise<Terminal>): Command {
  const add = new Command('add')
    .description('add a plugin from a registry of npm, or from the tarball of a package, or install it again')
    .argument('<package>', 'a name such as "nodekeep-notes" or "nodekeep-notes@1.2.0", or a .tgz file or URL')
    .option('--yes', 'ask nothing')
  const remove = new Command('remove')
    .description('remove a plugin that was added, with its section of the configuration; its data stays')
    .argument('<name>', 'the id or the package of the plugin')
  const outdated = new Command('outdated')
    .description('list the added plugins, with the newest version of each')
    .option('--json', 'print JSON')
  return new Command('plugins')
    .addCommand(
      add.action(async (spec: string, options: PluginsOptions) =>
        (await actions()).add(spec, options, await terminal(false)),
      ),
    )
    .addCommand(
      remove.action(async (name: string, options: PluginsOptions) =>
        (await actions()).remove(name, options, await terminal(false)),
      ),
    )
    .addCommand(
      outdated.action(async (options: PluginsOptions) =>
        (await actions()).outdated(options, await terminal(options.json === true)),
      ),
    )
}
