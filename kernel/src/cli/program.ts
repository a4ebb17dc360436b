import { Command } from 'commander'
import { kernelVersion } from '../kernel-version.ts'
import { configCommand } from './commands/config.ts'
import { pluginsCommand } from './commands/plugins.ts'
import { sessionCommand } from './commands/session.ts'
import { startCommand } from './commands/start.ts'
import { tokenCommand } from './commands/token.ts'
import { userCommand } from './commands/user.ts'
import { fail } from './fail.ts'

/**
 * Runs the command line.
 *
 * @param args without the names of the runtime and the script; `start` is meant when no command is given
 */
export async function run(args: readonly string[]): Promise<void> {
  const program = createProgram()
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    fail(error, args.includes('--verbose'))
  }
}

function createProgram(): Command {
  const program = new Command('nodekeep')
    .description('A personal cloud node. Without a command it starts.')
    .version(kernelVersion, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showSuggestionAfterError()
    .configureHelp({ showGlobalOptions: true })
  program.addCommand(startCommand(), { isDefault: true })
  program.addCommand(configCommand())
  program.addCommand(pluginsCommand())
  program.addCommand(sessionCommand())
  program.addCommand(userCommand())
  program.addCommand(tokenCommand())
  program.addHelpText(
    'after',
    `
Examples:
  nodekeep                          start with ./nodekeep.json, or with the default bundle
  nodekeep start --port 8080        start on another port
  nodekeep config check             look whether the configuration is in order
  nodekeep plugins list             what is loaded, and from where
  nodekeep session create           a session token for curl on this machine

"nodekeep <command> --help" tells what a command takes. Environment variables stand for every key of
the configuration: PORT, NODEKEEP_CONFIG, NODEKEEP_DATA, NODEKEEP_SERVER__HOST and so on.`,
  )
  return program
}
