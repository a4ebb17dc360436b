import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { type Configuration, loadConfiguration } from '../../configuration/configuration.ts'
import { presetFile } from '../../configuration/presets.ts'
import type { CommandProcess } from './command-process.ts'
import type { ConfigurationOptions } from './configuration-options.ts'

/**
 * Reads the configuration that the options and the environment select.
 *
 * @param onFile receives the absolute path of each file before it is read
 * @throws ConfigurationError
 */
export function readConfiguration(
  options: ConfigurationOptions,
  process: CommandProcess = globalThis.process,
  onFile: (path: string) => void = () => {},
): Promise<Configuration> {
  const workingDirectory = process.cwd()
  const { data, port, host, logLevel } = options
  return loadConfiguration({
    file:
      options.config === undefined
        ? defaultFile(workingDirectory)
        : resolve(workingDirectory, options.config),
    environment: process.env,
    flags: {
      data,
      // A section without any flag would replace a wrong value of the file, which must be told.
      server: port === undefined && host === undefined ? undefined : { port, host },
      log: logLevel === undefined ? undefined : { level: logLevel },
    },
    workingDirectory,
    onFile,
  })
}

function defaultFile(workingDirectory: string): string | null {
  const written = resolve(workingDirectory, 'nodekeep.json')
  return existsSync(written) ? written : presetFile('nodekeep:default')
}
