import { ConfigurationError } from '../../configuration/error.ts'
import { readNodeInfo } from '../../system/node-info.ts'
import { argumentsOf, type ConfigurationOptions } from '../common/configuration-options.ts'
import { readConfiguration } from '../common/read-configuration.ts'

/** The options of `nodekeep supervise`. */
export interface SuperviseOptions extends ConfigurationOptions {
  /** How often the release in use did not start, as the launcher counts. */
  readonly failedStarts?: number
}

/** What the supervisor has to know. It has no code for the configuration itself, since it stays small. */
export interface SupervisorDescription {
  readonly data: string
  readonly host: string
  readonly port: number
  /** The folder for releases. */
  readonly releases: string
  readonly trialSeconds: number
  readonly answerSeconds: number
  readonly logFormat: string
  /** The release that this command belongs to; `null` if it does not run from one. */
  readonly release: string | null
  /** The arguments that select the configuration. */
  readonly args: readonly string[]
  readonly failedStarts: number
}

/** Prints the description as JSON, or `{ problems }` if the configuration has problems. */
export async function describeForSupervisor(options: SuperviseOptions): Promise<void> {
  process.stdout.write(JSON.stringify(await describe(options)))
}

async function describe({
  failedStarts = 0,
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
      release: installation === 'release' ? folder : null,
      args: argumentsOf(options),
      failedStarts,
    }
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems }
    throw error
  }
}
