import { RouteTable } from '../../http/route-table.ts'
import { describePlugin, type PluginDescription } from '../../plugins/describe-plugin.ts'
import type { CommandProcess } from '../common/command-process.ts'
import type { PrintOptions } from '../common/configuration-options.ts'
import { inspect } from '../common/inspect.ts'
import { printJson, printLines } from '../common/print-lines.ts'

/** `nodekeep plugins list`. The exit code is 1 if a plugin cannot be loaded. */
export async function listPlugins(options: PrintOptions, process: CommandProcess): Promise<void> {
  const { records } = await inspect(options, process)
  const plugins = records.all.map((record) => describePlugin(record, new RouteTable()))
  if (options.json === true) printJson(plugins, process.stdout)
  else if (plugins.length === 0) printLines(['The configuration names no plugins.'], process.stdout)
  else printLines(plugins.map(describe).join('\n\n').split('\n'), process.stdout)
  if (plugins.some(({ state }) => state === 'failed')) process.exitCode = 1
}

function describe(plugin: PluginDescription): string {
  const { id, state, reason, description, version, required, configuredAt } = plugin
  const status = state === 'stopped' ? 'ready to start' : state
  const lines = [
    `${id}  ${status}${reason === null ? '' : `: ${reason}`}`,
    description,
    plugin.package === null ? '' : `package      ${plugin.package} ${version}, SDK ${plugin.sdk}`,
    `configured   ${configuredAt}, ${required ? 'required' : 'optional'}`,
    ...(['requires', 'optional', 'provides', 'contributes'] as const).map((kind) =>
      plugin[kind].length === 0 ? '' : `${kind.padEnd(12)} ${plugin[kind].join(', ')}`,
    ),
  ]
  return lines.filter((line) => line !== '').join('\n  ')
}
