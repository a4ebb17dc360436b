import type { CommandContext } from '@nodekeep/plugin-sdk'

/** The parts of a terminal that a command uses. */
export type Terminal = Pick<CommandContext, 'output' | 'confirm'>

/** The options of all commands about added plugins. */
export interface PluginsOptions {
  readonly config?: string
  readonly data?: string
  readonly json?: boolean
  readonly yes?: boolean
}
