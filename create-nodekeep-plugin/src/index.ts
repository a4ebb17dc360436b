import { readFileSync } from 'node:fs'
import { Argument, Command, CommanderError } from 'commander'
import { kindNames, makePlugin } from './make-plugin.ts'

/**
 * Runs the command line: makes a plugin in a new folder of the working directory. An error is one line on standard error, and sets the
 * exit code.
 */
export async function run(args: readonly string[]): Promise<void> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const name = 'create-nodekeep-plugin'
  const fail = (message: string) => {
    process.stderr.write(`${name}: ${message}\n`)
    process.exitCode = 1
  }
  const command = new Command(name)
    .description('Make a plugin for Nodekeep in a new folder: its package, source, tests and README.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .addArgument(new Argument('<kind>', `the kind of plugin: ${kindNames.join(' or ')}`))
    .argument('<name>', 'the name of its package and of the folder, such as my-provider')
    .addHelpText(
      'after',
      `
Kinds:
  ai       an AI provider: models of a server
  storage  a storage backend: a place for files

The plugin is Nodekeep's example of its kind with your name. It works and passes the conformance suite. Replace its parts by yours.`,
    )
    .exitOverride()
    .configureOutput({
      outputError: (text) =>
        fail(`${text.replace(/^error: /, '').replace(/\.?\s*$/, '.')} "${name} --help" shows what it takes.`),
    })
    .action(async (kind: string, plugin: string) => {
      const { folder, id } = await makePlugin(kind, plugin, process.cwd())
      process.stdout.write(
        `The plugin "${id}" is in the folder ${folder}. Its README.md says how to install, test and build it.\n`,
      )
    })
  try {
    await command.parseAsync(args, { from: 'user' })
  } catch (error) {
    // Commander has printed the error, the help or the version.
    if (error instanceof CommanderError) process.exitCode = error.exitCode
    else fail(error instanceof Error ? error.message : String(error))
  }
}
