import { setImmediate } from 'node:timers/promises'
import type { Log } from '@nodekeep/plugin-sdk'
import { runInContextOf } from '../faults/fault-context.ts'
import { Activation, type ActivationServices } from './activation.ts'
import { PluginFailure } from './failure.ts'
import type { PluginRecord, PluginRecords } from './plugin-record.ts'
import { requiredServices, type ServiceWiring } from './service-wiring.ts'

interface PluginHostServices {
  readonly records: PluginRecords
  readonly wiring: ServiceWiring
  /** The services that are available now, by token key. */
  readonly services: ReadonlyMap<string, unknown>
  /** Returns the parts of the kernel that the plugin with this id uses. */
  readonly cradleOf: (plugin: string) => ActivationServices
  readonly log: Log
}

/** Sets up and starts plugins in the order of their services, and stops them in reverse. */
export class PluginHost {
  readonly #kernel: PluginHostServices
  /** From the beginning of a setup to the beginning of the stop, in the order of setup. */
  readonly #activations = new Map<PluginRecord, Activation>()
  #serving = false
  #stopping = false

  constructor(kernel: PluginHostServices) {
    this.#kernel = kernel
  }

  /** The plugins that are up, in the order of setup. */
  get #up(): PluginRecord[] {
    return [...this.#activations.keys()].filter(({ isUp }) => isUp)
  }

  /**
   * Sets up and starts every plugin that can be up and is not yet. Failures are kept in the records.
   *
   * @returns the plugins that failed
   */
  async bringUp(): Promise<PluginRecord[]> {
    const { records, wiring } = this.#kernel
    const { ids, blocked } = wiring.order()
    for (const [id, reason] of blocked) records.get(id)?.blocked(reason)

    const begun: PluginRecord[] = []
    for (const record of ids.map((id) => records.get(id))) {
      if (record === undefined || record.isUp || this.#stopping) continue
      begun.push(record)
      await this.#setUp(record)
    }
    for (const record of begun)
      if (record.isUp) await this.#proceed(record, (activation) => activation.start())
    if (this.#serving) for (const record of begun) if (record.isUp) await this.#serve(record)
    // Node reports an unhandled rejection one turn of the event loop later.
    await setImmediate()
    const failed = begun.filter(({ state }) => state === 'failed')
    // A failed start also stopped the plugins that use it. Those for which it is optional start again without it.
    return begun.some(({ state }) => state === 'stopped') ? [...failed, ...(await this.bringUp())] : failed
  }

  /**
   * Tells every plugin that is up, and each that comes up later, that clients can reach the node.
   *
   * @returns the plugins that failed
   */
  async serve(): Promise<PluginRecord[]> {
    this.#serving = true
    const told = this.#up
    for (const record of told) if (record.isUp && !this.#stopping) await this.#serve(record)
    const failed = told.filter(({ state }) => state === 'failed')
    // A failure also stopped the plugins that use the failed one. Those for which it is optional start again without it.
    return failed.length > 0 ? [...failed, ...(await this.bringUp())] : failed
  }

  /**
   * Stops a plugin and the plugins that use its services, in reverse order of setup. Their state is `stopped`
   * afterwards. The next `bringUp` starts those that can do without it.
   */
  async takeDown(record: PluginRecord): Promise<void> {
    for (const affected of this.#kernel.wiring.usersOf(record, this.#up).reverse()) await this.#stop(affected)
  }

  /** Returns the plugins that are up and would have to stop with this one. */
  requirersOf(record: PluginRecord): PluginRecord[] {
    return this.#kernel.wiring.requirersOf(record, this.#up).filter((other) => other !== record)
  }

  /**
   * Brings a plugin up again, and with it the plugins that were blocked without it or ran without it.
   *
   * @returns the plugins that failed
   */
  async renew(record: PluginRecord): Promise<PluginRecord[]> {
    for (const other of this.#kernel.records.all) if (other.state === 'blocked') other.stopped()
    await this.takeDown(record)
    return this.bringUp()
  }

  /** Tells all plugins that the node is stopping. */
  announceStop(): void {
    this.#stopping = true
    for (const [record, activation] of this.#activations)
      runInContextOf(record, () => activation.announceStop())
  }

  /** Stops all plugins, also one that is still being set up. */
  async stopAll(): Promise<void> {
    this.announceStop()
    for (const record of this.#up.reverse()) await this.#stop(record)
    // A plugin that is still being set up provides nothing to others yet.
    for (const record of [...this.#activations.keys()]) await this.#stop(record)
  }

  async #setUp(record: PluginRecord): Promise<void> {
    const { services, wiring, cradleOf } = this.#kernel
    const { plugin } = record
    if (plugin === null) return
    const missing = requiredServices(plugin).find((key) => services.get(key) === undefined)
    if (missing !== undefined) {
      record.blocked(`It needs the service "${missing}" of ${wiring.providerName(missing)}, which is not up.`)
      return
    }
    const activation = new Activation(cradleOf(record.id), record, plugin, wiring.offersOf(record))
    this.#activations.set(record, activation)
    record.settingUp()
    try {
      await record.run(() => activation.setUp())
      runInContextOf(record, () => activation.publish())
      record.active()
    } catch (error) {
      await this.#fail(record, error)
    }
  }

  #serve(record: PluginRecord): Promise<void> {
    return this.#proceed(record, (activation) => activation.serve())
  }

  /** Takes a plugin to its next phase. One that fails stops, and with it the plugins that use its services. */
  async #proceed(record: PluginRecord, phase: (activation: Activation) => Promise<void>): Promise<void> {
    const activation = this.#activations.get(record)
    if (activation === undefined) return
    try {
      await record.run(() => phase(activation))
    } catch (error) {
      await this.takeDown(record)
      // A stop ends hooks that still run.
      if (!this.#stopping) await this.#fail(record, error)
    }
  }

  async #fail(record: PluginRecord, thrown: unknown): Promise<void> {
    try {
      await this.#release(record)
    } finally {
      record.failed(PluginFailure.from('setup', thrown))
    }
  }

  async #stop(record: PluginRecord): Promise<void> {
    try {
      await this.#release(record)
    } finally {
      record.stopped()
    }
  }

  async #release(record: PluginRecord): Promise<void> {
    const activation = this.#activations.get(record)
    if (activation === undefined) return
    this.#activations.delete(record)
    for (const failure of await runInContextOf(record, () => activation.stop())) {
      this.#kernel.log.error(
        { plugin: record.id, phase: 'stop', err: failure.cause ?? failure },
        failure.message,
      )
    }
  }
}

/** Logs why plugins are not up, with the errors that they threw. */
export function logImpaired(log: Log, records: readonly PluginRecord[]): void {
  for (const { id, state, phase, reason, failure } of records) {
    const err = failure?.cause ?? undefined
    log.error({ plugin: id, state, phase, err }, `The plugin "${id}" is ${state}: ${reason}`)
  }
}
