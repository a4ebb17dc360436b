import type { CommandContext } from '@nodekeep/plugin-sdk'

/** The manifest of a plugin, as the node reads and checks it. */
export interface PluginManifest {
  readonly id: string
  readonly sdk: string
  readonly section: string
  readonly folders: ReadonlyMap<string, string>
  readonly commands?: { readonly list: Readonly<Record<string, unknown>> }
}

/** The parts of a terminal that a command uses, and how the node reads its configuration and manifests. */
export interface Terminal extends Pick<CommandContext, 'output' | 'confirm'> {
  /**
   * Returns the data folder of the configuration.
   *
   * @throws Error with the problems of the configuration
   */
  dataFolder(options: PluginsOptions): Promise<string>
  /**
   * @param path the absolute path of the package.json
   * @throws Error whose message begins with the path and names the wrong field
   */
  readManifest(path: string): Promise<PluginManifest>
}

/** The options of all commands about added plugins. */
export interface PluginsOptions {
  readonly config?: string
  readonly data?: string
  readonly json?: boolean
  readonly yes?: boolean
}
