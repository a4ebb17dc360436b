import { resolve } from 'node:path'
import {
  invalid,
  type NodeFolder,
  type NodeTrials,
  type TrialNode,
  type TrialOptions,
} from '@nodekeep/plugin-sdk'
import { planRestore } from '../backup/restores.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { findPluginFolders } from '../plugins/installed-plugins.ts'
import { nodeProgram } from '../system/node-program.ts'

/** Starts nodes on trial, with the configuration of the running node. */
export class KernelTrials implements NodeTrials {
  readonly #configuration: Configuration
  readonly #running = new Set<Promise<TrialNode>>()
  readonly #closed = new AbortController()

  constructor(configuration: Configuration) {
    this.#configuration = configuration
  }

  async start({ data, folders = [], restore, signal }: TrialOptions): Promise<TrialNode> {
    const signals = signal === undefined ? [this.#closed.signal] : [signal, this.#closed.signal]
    const ended = AbortSignal.any(signals)
    ended.throwIfAborted()
    const values = await this.#valuesFor(data, folders)
    if (restore !== undefined) planRestore(data, restore)
    const starting = this.#start(this.#configuration.sourcesWith(values), ended)
    this.#running.add(starting)
    const forget = () => this.#running.delete(starting)
    starting.then(({ exited }) => exited.then(forget), forget)
    return starting
  }

  /** Ends all nodes on trial, and waits for that. */
  async close(): Promise<void> {
    this.#closed.abort(new Error('The node is stopping.'))
    const nodes = await Promise.allSettled(this.#running)
    await Promise.all(nodes.map((node) => (node.status === 'fulfilled' ? node.value.exited : undefined)))
  }

  async #start(sources: unknown, signal: AbortSignal): Promise<TrialNode> {
    // It loads Node's HTTP client, which takes 4 MB of memory. Trials are rare.
    const { startTrialNode } = await import('@nodekeep/plugin-sdk/node-process')
    return startTrialNode({ program: nodeProgram, sources, signal })
  }

  /** The values of the configuration that differ. */
  async #valuesFor(data: string, replaced: readonly NodeFolder[]): Promise<Record<string, unknown>> {
    const own = this.#configuration.kernel.data
    if (resolve(data) === own) throw invalid(`${data} is the data folder of the running node.`)
    const used = new Set((await findPluginFolders(this.#configuration)).map(({ path }) => path))
    const values: Record<string, Record<string, string>> = {}
    for (const { plugin, section, key, path } of await findPluginFolders(this.#configuration, data)) {
      const other = replaced.find((folder) => folder.plugin === plugin && folder.key === key)
      if (other !== undefined) values[section] = { ...values[section], [key]: other.path }
      if (used.has(resolve(other?.path ?? path))) {
        throw invalid(
          `The plugin "${plugin}" would use ${path} of the running node. Name another folder for its key "${key}".`,
        )
      }
    }
    return { ...values, data }
  }
}
