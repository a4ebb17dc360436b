import type { Command } from 'commander'
import {
  type ConfigurationOptions,
  type PrintOptions,
  withConfigurationOptions,
} from './configuration-options.ts'

/** The options of every command for one user, who is the owner by default. */
export interface UserOptions extends ConfigurationOptions {
  readonly user?: string
}

/** The options of a command that prints something of one user. */
export interface ListOptions extends UserOptions, PrintOptions {}

/** Adds `--user`, and the options of the configuration. */
export function withUserOption(command: Command): Command {
  return withConfigurationOptions(command).option(
    '-u, --user <user>',
    'username, uuid or wallet (default: the owner)',
  )
}
