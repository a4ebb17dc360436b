import { realpathSync } from 'node:fs'
import type { SupervisorDescription } from '@nodekeep/plugin-sdk/supervision'
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
