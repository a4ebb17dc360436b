import type { CommandContext } from '@nodekeep/plugin-sdk'
import { Command, CommanderError } from 'commander'
import type { readManifest } from '../plugins/plugin-manifest.ts'
import { kernelVersion } from '../system/kernel-version.ts'
import { suggest } from '../validation/suggestion.ts'
import { completionCommand } from './commands/completion.ts'
import { configCommand } from './commands/config.ts'
import { pluginsCommand } from './commands/plugins.ts'
import { sessionCommand } from './commands/session.ts'
import { startCommand } from './commands/start.ts'
import { statusCommand } from './commands/status.ts'
import { superviseCommand } from './commands/supervise.ts'
import { tokenCommand } from './commands/token.ts'
import { userCommand } from './commands/user.ts'
import type { CommandProcess } from './common/command-process.ts'
import { type ConfigurationOptions, withConfigurationOptions } from './common/configuration-options.ts'

/** The parts of a terminal that a command of another package uses. With `asJson`, its lists are JSON. */
type MakeTerminal = (asJson: boolean) => Promise<
  Pick<CommandContext, 'output' | 'confirm'> & {
    readonly dataFolder: (options: ConfigurationOptions) => Promise<string>
    readonly readManifest: typeof readManifest
  }
>

/** Makes a command. If there is one with its name, its subcommands are added to that, with the options of the configuration. */
type OtherCommand = (terminal: MakeTerminal) => Command

/**
 * Runs the command line. The action of a command is loaded when it is called, since loading takes most of the time.
 *
 * @param args without the names of the runtime and the script; without a command, `start` runs
 * @param others commands of other packages of the release
 * @param process the streams, variables and working directory of the command, which sets its exit code
 */
export async function run(
  args: readonly string[],
  others: readonly OtherCommand[] = [],
  process: CommandProcess = globalThis.process,
): Promise<void> {
  const program = createProgram(others, process)
  try {
    if (mayMeanPlugin(program, args)) {
      const { addPluginCommands } = await import('./commands/plugin-commands.ts')
      const kernelCommands = program.commands.length
      const problem = await addPluginCommands(program, args, process)
      for (const command of program.commands.slice(kernelCommands)) unify(command, process)
      refuseUnknown(program, args, problem)
    }
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    // Commander has printed the error, the help or the version.
    if (error instanceof CommanderError) process.exitCode = error.exitCode
    else await failCommand(error, args, process)
  }
}

/** Prints an error of a command for a person, and makes the process end with code 1. */
export async function failCommand(
  error: unknown,
  args: readonly string[],
  process: CommandProcess = globalThis.process,
): Promise<void> {
  const { fail } = await import('./common/fail.ts')
  fail(error, args.includes('--verbose'), process)
}

function createProgram(others: readonly OtherCommand[], process: CommandProcess): Command {
  const program = new Command('nodekeep')
    .description('A personal cloud node. Without a command, the node starts.')
    .version(kernelVersion, '-V, --version', 'print the version')
    .configureHelp({ showGlobalOptions: true })
  program.addCommand(startCommand(), { isDefault: true })
  program.addCommand(superviseCommand())
  program.addCommand(statusCommand(process))
  program.addCommand(configCommand(process))
  program.addCommand(pluginsCommand(process))
  program.addCommand(sessionCommand(process))
  program.addCommand(userCommand(process))
  program.addCommand(tokenCommand(process))
  program.addCommand(completionCommand(process))
  for (const create of others) addOther(program, create(terminalOf(process)))
  unify(program, process)
  program.helpCommand('help [command]', 'print the help of a command')
  program.addHelpText(
    'after',
    `
Examples:
  nodekeep                          start with ./nodekeep.json, or with the default bundle
  nodekeep start --port 8080        start on another port
  nodekeep status                   show the node that runs
  nodekeep config check             check the configuration
  nodekeep plugins list             list the plugins and their packages
  nodekeep session create           create a session token for curl on this machine

"nodekeep <command> --help" lists the options of a command. Environment variables can set every key of
the configuration: PORT, NODEKEEP_CONFIG, NODEKEEP_DATA, NODEKEEP_SERVER__HOST and so on.`,
  )
  return program
}

function addOther(program: Command, other: Command): void {
  const group = program.commands.find((command) => command.name() === other.name())
  if (group === undefined) program.addCommand(other)
  else for (const subcommand of other.commands) group.addCommand(withConfigurationOptions(subcommand))
}

function terminalOf(process: CommandProcess): MakeTerminal {
  return async (asJson) => {
    const { askOnTerminal, outputOnTerminal } = await import('./actions/command-terminal.ts')
    const { readConfiguration } = await import('./common/read-configuration.ts')
    const { readManifest } = await import('../plugins/plugin-manifest.ts')
    const { signal } = new AbortController()
    return {
      output: outputOnTerminal(asJson, process),
      confirm: (question) => askOnTerminal(question, signal, process),
      dataFolder: async (options) => (await readConfiguration(options, process)).kernel.data,
      readManifest,
    }
  }
}

/**
 * Gives all commands the same form of help and of errors, one line each.
 *
 * @param line the words that call the command
 */
function unify(command: Command, process: CommandProcess, line = command.name()): void {
  command
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showSuggestionAfterError()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      writeErr: (text) => process.stderr.write(text),
      outputError: (text, write) =>
        write(
          `nodekeep: ${text
            .replace(/^error: /, '')
            .trimEnd()
            .replaceAll(/\s*\n\s*/g, ' ')
            .replace(/\w$|'$/, '$&.')} "${line} --help" shows what it takes.\n`,
        ),
    })
  for (const subcommand of command.commands) unify(subcommand, process, `${line} ${subcommand.name()}`)
}

/** Tells whether a command line names, explains or completes commands that plugins may add. */
function mayMeanPlugin({ commands }: Command, [first]: readonly string[]): boolean {
  if (first === undefined) return false
  if (['help', '--help', '-h', 'completion'].includes(first)) return true
  return !first.startsWith('-') && !commands.some((command) => command.name() === first)
}

/**
 * Otherwise a misspelled command would count as an argument of `start`.
 *
 * @param problem the reason why the commands of plugins are not known
 */
function refuseUnknown(
  { commands }: Command,
  [first = '', topic = '']: readonly string[],
  problem: string | null,
): void {
  const names = commands.map((command) => command.name())
  const name = first === 'help' ? topic : first
  if (name === '' || name.startsWith('-') || names.includes(name)) return
  const unread = problem === null ? '' : ` The commands of plugins are not known: ${problem}`
  throw new Error(`There is no command "${name}". ${suggest(name, names)}${unread}`)
}
