export {
  Configuration,
  ConfigurationError,
  type ConfigurationSources,
  loadConfiguration,
} from './configuration/index.ts'
export type { LogFormat, LogLevel } from './log/levels.ts'
export { createLogger, type LoggerOptions } from './log/logger.ts'
export { createSecrets, type Secrets } from './log/secrets.ts'
export { type NodeOptions, type RunningNode, startNode } from './node.ts'
export { BootFailure } from './plugins/boot-failure.ts'
export type { PluginDescription } from './plugins/describe-plugin.ts'
export type { PluginState } from './plugins/plugin-record.ts'
