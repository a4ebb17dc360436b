import { Command } from 'commander'
import { kernelVersion } from '../system/kernel-version.ts'
import { suggest } from '../validation/suggestion.ts'
import { completionCommand } from './commands/completion.ts'
import { configCommand } from './commands/config.ts'
import { pluginsCommand } from './commands/plugins.ts'
import { sessionCommand } from './commands/session.ts'
import { startCommand } from './commands/start.ts'
import { tokenCommand } from './commands/token.ts'
import { userCommand } from './commands/user.ts'

/**
 * Runs the command line. The action of a command is loaded when it is called, since loading takes most of the time.
 *
 * @param args without the names of the runtime and the script; without a command, `start` runs
 */
export async function run(args: readonly string[]): Promise<void> {
  const program = createProgram()
  try {
    refuseUnknown(program, args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    const { fail } = await import('./common/fail.ts')
    fail(error, args.includes('--verbose'))
  }
}

function createProgram(): Command {
  const program = new Command('nodekeep')
    .description('A personal cloud node. Without a command, the node starts.')
    .version(kernelVersion, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
  program.addCommand(startCommand(), { isDefault: true })
  program.addCommand(configCommand())
  program.addCommand(pluginsCommand())
  program.addCommand(sessionCommand())
  program.addCommand(userCommand())
  program.addCommand(tokenCommand())
  program.addCommand(completionCommand())
  unify(program)
  program.helpCommand('help [command]', 'print the help of a command')
  program.addHelpText(
    'after',
    `
Examples:
  nodekeep                          start with ./nodekeep.json, or with the default bundle
  nodekeep start --port 8080        start on another port
  nodekeep config check             check the configuration
  nodekeep plugins list             list the plugins and their packages
  nodekeep session create           create a session token for curl on this machine

"nodekeep <command> --help" lists the options of a command. Environment variables can set every key of
the configuration: PORT, NODEKEEP_CONFIG, NODEKEEP_DATA, NODEKEEP_SERVER__HOST and so on.`,
  )
  return program
}

/** Gives all commands the same form of help and of errors, one line each. */
function unify(command: Command): void {
  command
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showSuggestionAfterError()
    .configureOutput({
      outputError: (text, write) =>
        write(
          `nodekeep: ${text
            .replace(/^error: /, '')
            .trimEnd()
            .replaceAll(/\s*\n\s*/g, ' ')}\n`,
        ),
    })
  for (const subcommand of command.commands) unify(subcommand)
}

/** Otherwise a misspelled command would count as an argument of `start`. */
function refuseUnknown({ commands }: Command, [first = '', topic = '']: readonly string[]): void {
  const names = commands.map((command) => command.name())
  const name = first === 'help' ? topic : first
  if (name === '' || name.startsWith('-') || names.includes(name)) return
  throw new Error(`There is no command "${name}". ${suggest(name, names)}`)
}
