import { Command, Option } from 'commander'
import type { PrintLines } from './service.ts'
import { defaultService } from './service-unit.ts'

const actions = () => import('./service.ts')

/**
 * `nodekeep service install|uninstall`
 *
 * @param terminal makes the terminal of a command
 */
export function serviceCommand(
  terminal: (asJson: boolean) => Promise<{ readonly output: { lines(...lines: readonly string[]): void } }>,
): Command {
  const printLines = async (): Promise<PrintLines> => {
    const { output } = await terminal(false)
    return (lines) => output.lines(...lines)
  }
  const command = new Command('service').description('let systemd run the node of an unpacked release')
  const install = new Command('install')
    .description('write the unit, the launcher and a copy of this release, and say what to run then')
    .option('--user <name>', 'account that runs the node', defaultService.user)
    .option('--config <file>', 'configuration file; it is written if there is none', defaultService.config)
    .option('--data <folder>', 'folder for all data of the node', defaultService.data)
    .option(
      '--releases <folder>',
      'folder for releases, on a disk where programs may run (default: releases in the data folder)',
    )
    .option('--print', 'print the unit, and write nothing')
    .addOption(rootOption())
    .action(async (options) => (await actions()).install(options, await printLines()))
  const uninstall = new Command('uninstall')
    .description('remove what "install" has written, except the configuration; the data stays too')
    .addOption(rootOption())
    .action(async (options) => (await actions()).uninstall(options, await printLines()))
  return command.addCommand(install).addCommand(uninstall)
}

function rootOption(): Option {
  return new Option('--root <folder>', 'take this folder for "/", as for an image of a machine').default('/')
}
