import { Command } from 'commander'
import type { CommandProcess } from '../common/command-process.ts'
import { type PrintOptions, withConfigurationOptions } from '../common/configuration-options.ts'

/** `nodekeep status` */
export function statusCommand(process: CommandProcess): Command {
  const command = new Command('status')
    .description('show the node that runs: its address, owner, health and plugins')
    .option('--json', 'print JSON')
  return withConfigurationOptions(command).action(async (options: PrintOptions) => {
    const { showStatus } = await import('../actions/status.ts')
    await showStatus(options, process)
  })
}
