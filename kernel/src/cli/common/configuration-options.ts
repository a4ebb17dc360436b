import { type Command, InvalidArgumentError, Option } from 'commander'
import { logLevels } from '../../log/levels.ts'

/** The options of every command that reads the configuration. */
export interface ConfigurationOptions {
  readonly config?: string
  readonly data?: string
  readonly host?: string
  readonly port?: number
  readonly logLevel?: string
  readonly verbose?: boolean
}

/** The options of a command that prints lines for people, or JSON for programs. */
export interface PrintOptions extends ConfigurationOptions {
  readonly json?: boolean
}

/** The options of every command for one user, who is the owner by default. */
export interface UserOptions extends ConfigurationOptions {
  readonly user?: string
}

/** The options of a command that prints something of one user. */
export interface ListOptions extends UserOptions, PrintOptions {}

/** Returns the options as arguments for another command. */
export function argumentsOf(options: ConfigurationOptions): string[] {
  const { config, data, host, port, logLevel, verbose } = options
  const named = {
    '--config': config,
    '--data': data,
    '--host': host,
    '--port': port,
    '--log-level': logLevel,
  }
  const given = Object.entries(named).flatMap(([name, value]) =>
    value === undefined ? [] : [name, String(value)],
  )
  return verbose === true ? [...given, '--verbose'] : given
}

/** Adds `--config`, `--data` and `--verbose`. */
export function withConfigurationOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '-c, --config <file>',
        'configuration file (default: ./nodekeep.json, else the default bundle)',
      ).env('NODEKEEP_CONFIG'),
    )
    .addOption(new Option('-d, --data <folder>', 'folder for all data of the node').env('NODEKEEP_DATA'))
    .option('--verbose', 'show stack traces of errors')
}

/** Adds `--user`, and the options of the configuration. */
export function withUserOption(command: Command): Command {
  return withConfigurationOptions(command).option(
    '-u, --user <user>',
    'username, uuid or wallet (default: the owner)',
  )
}

/** Adds `--port`, `--host` and `--log-level`. */
export function withListenOptions(command: Command): Command {
  return command
    .option('-p, --port <number>', 'TCP port to listen on, 0 for a free port (environment: PORT)', parsePort)
    .option('--host <address>', 'address to listen on; "0.0.0.0" accepts connections from other machines')
    .addOption(new Option('--log-level <level>', 'lowest severity that is logged').choices(logLevels))
}

/** Parses a number of days. */
export function parseDays(text: string): number {
  const days = Number(text)
  if (/^\d+$/.test(text) && days >= 1 && days <= 3650) return days
  throw new InvalidArgumentError('Days are a number from 1 to 3650.')
}

function parsePort(text: string): number {
  const port = Number(text)
  if (/^\d+$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('A port is a number from 0 to 65535.')
}
