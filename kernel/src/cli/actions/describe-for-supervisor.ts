import { realpathSync } from 'node:fs'
import { ConfigurationError } from '../../configuration/error.ts'
import { readNodeInfo } from '../../system/node-info.ts'
import { argumentsOf, type ConfigurationOptions } from '../common/configuration-options.ts'
import { readConfiguration } from '../common/read-configuration.ts'

/** The options of `nodekeep supervise`. */
export interface SuperviseOptions extends ConfigurationOptions {
  /** Goes back to the former release first. A text is the reason. */
  readonly back?: string | true
  /** Tries a newer release again that has not worked here. */
  readonly again?: boolean
  /** Changes to a newer release after which there is no way back. */
  readonly withoutWayBack?: boolean
  /** The path of the release to change to, if it is not that of this command. */
  readonly release?: string
}

/** The facts that the supervisor needs. It has no code for the configuration itself, since it stays small. */
export interface SupervisorDescription {
  readonly data: string
  readonly host: string
  readonly port: number
  /** The folder for releases. */
  readonly releases: string
  readonly trialSeconds: number
  readonly answerSeconds: number
  readonly logFormat: string
  /** The release that this command belongs to, or that was named; `null` without one. */
  readonly release: string | null
  /** The arguments that select the configuration. */
  readonly args: readonly string[]
  /** The reason to go back first; `null` to stay. */
  readonly back: string | null
  readonly again: boolean
  readonly withoutWayBack: boolean
}

/** Prints the description as JSON, or `{ problems }` if the configuration has problems. */
export async function describeForSupervisor(options: SuperviseOptions): Promise<void> {
  process.stdout.write(JSON.stringify(await describe(options)))
}

async function describe({
  back,
  again = false,
  withoutWayBack = false,
  release,
  ...options
}: SuperviseOptions): Promise<SupervisorDescription | { problems: readonly string[] }> {
  try {
    const { server, data, releases, log } = (await readConfiguration(options)).kernel
    const { installation, folder } = await readNodeInfo()
    return {
      data,
      host: server.host,
      port: server.port,
      releases: releases.folder ?? '',
      trialSeconds: releases.trialSeconds,
      answerSeconds: releases.answerSeconds,
      logFormat: log.format,
      release: release !== undefined ? realpathSync(release) : installation === 'release' ? folder : null,
      args: argumentsOf(options),
      back: back === true ? 'The owner of the node asked for it.' : (back ?? null),
      again,
      withoutWayBack,
    }
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems }
    throw error
  }
}
