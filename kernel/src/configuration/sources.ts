import type { Environment } from './environment.ts'

/** Everything a configuration is made of, besides the defaults of the schemas. */
export interface ConfigurationSources {
  /** Path of the configuration file, `null` for none. Relative to the working directory. */
  readonly file: string | null
  readonly environment: Environment
  /** What the command line sets, nested like the configuration: `{ server: { port: 4300 } }`. */
  readonly flags: Readonly<Record<string, unknown>>
  /** Absolute path. */
  readonly workingDirectory: string
  /** A configuration in place of a file, for tests and for programs that embed the node. */
  readonly inline?: Readonly<Record<string, unknown>>
}
