import { Command } from 'commander'
import { kernelVersion } from '../kernel-version.ts'
import { suggest } from '../validation/suggestion.ts'
import { configCommand } from './commands/config.ts'
import { pluginsCommand } from './commands/plugins.ts'
import { sessionCommand } from './commands/session.ts'
import { startCommand } from './commands/start.ts'
import { tokenCommand } from './commands/token.ts'
import { userCommand } from './commands/user.ts'

/**
 * Runs the command line. What a command does is loaded when it is called: most of a start goes into loading.
 *
 * @param args without the names of the runtime and the script; `start` is meant when no command is given
 */
export async function run(args: readonly string[]): Promise<void> {
  const program = createProgram()
  try {
    refuseUnknown(program, args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    const { fail } = await import('./fail.ts')
    fail(error, args.includes('--verbose'))
  }
}

function createProgram(): Command {
  const program = new Command('nodekeep')
    .description('A personal cloud node. Without a command it starts.')
    .version(kernelVersion, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
  program.addCommand(startCommand(), { isDefault: true })
  program.addCommand(configCommand())
  program.addCommand(pluginsCommand())
  program.addCommand(sessionCommand())
  program.addCommand(userCommand())
  program.addCommand(tokenCommand())
  agree(program)
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

/** Lets all commands speak alike: what is wrong in one line, and nothing twice. */
function agree(command: Command): void {
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
  for (const subcommand of command.commands) agree(subcommand)
}

/** Without this, a command with a slip of the pen would be taken for an argument of `start`. */
function refuseUnknown({ commands }: Command, [first = '']: readonly string[]): void {
  const names = commands.map((command) => command.name())
  if (first === '' || first.startsWith('-') || names.includes(first)) return
  throw new Error(`There is no command "${first}". ${suggest(first, names)}`)
}
