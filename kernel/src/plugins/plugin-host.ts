import { setImmediate } from 'node:timers/promises'
import type { Log, Plugin } from '@nodekeep/plugin-sdk'
import { runInContextOf } from '../faults/fault-context.ts'
import type { ServiceDirectory } from '../services/service-directory.ts'
import type { Activation } from './activation.ts'
import { PluginFailure } from './failure.ts'
import type { PluginRecord } from './plugin-record.ts'
import { requiredServices, type ServiceWiring } from './service-wiring.ts'

/** A new life of a plugin, with what makes the context for its setup. */
export interface NewActivation {
  readonly activation: Activation
  readonly createContext: () => unknown
}

export interface PluginHostParts {
  readonly records: () => readonly PluginRecord[]
  readonly wiring: ServiceWiring
  readonly services: ServiceDirectory
  readonly createActivation: (
    record: PluginRecord,
    plugin: Plugin,
    offers: ReadonlySet<string>,
  ) => NewActivation
  readonly log: Log
}

/** Brings plugins up in the order of their services, and takes them down in reverse. */
export class PluginHost {
  readonly #parts: PluginHostParts
  /** Plugins that are up, in the order in which they came. */
  readonly #up: PluginRecord[] = []
  #stopping = false

  constructor(parts: PluginHostParts) {
    this.#parts = parts
  }

  get records(): readonly PluginRecord[] {
    return this.#parts.records()
  }

  /**
   * Sets up and starts every plugin that may and can be, and isn't yet. Failures are kept in the records.
   *
   * @returns those that failed
   */
  async bringUp(): Promise<PluginRecord[]> {
    const { ids, blocked } = this.#parts.wiring.order()
    const byId = new Map(this.records.map((record) => [record.id, record]))
    for (const [id, reason] of blocked) byId.get(id)?.blocked(reason)

    const begun: PluginRecord[] = []
    for (const record of ids.map((id) => byId.get(id))) {
      if (record === undefined || record.isUp || this.#stopping) continue
      begun.push(record)
      await this.#setUp(record)
    }
    for (const record of begun) if (record.isUp) await this.#start(record)
    // Errors that a plugin left unhandled surface a turn of the event loop later.
    await setImmediate()
    const failed = begun.filter(({ state }) => state === 'failed')
    // A failed start took its users down too. Those that only could have used it come up without it.
    return begun.some(({ state }) => state === 'stopped') ? [...failed, ...(await this.bringUp())] : failed
  }

  /**
   * Stops a plugin and those that use its services, in reverse order of their coming. Their states say `stopped`
   * afterwards; who may come up again does so with the next `bringUp`.
   */
  async takeDown(record: PluginRecord): Promise<void> {
    for (const affected of this.#parts.wiring.usersOf(record, this.#up).reverse()) await this.#stop(affected)
  }

  /** The plugins that are up and would have to stop with this one. */
  requirersOf(record: PluginRecord): PluginRecord[] {
    return this.#parts.wiring.requirersOf(record, this.#up).filter((other) => other !== record)
  }

  /**
   * Brings a plugin up again, and with it those that waited for it or got along without it.
   *
   * @returns those that failed
   */
  async renew(record: PluginRecord): Promise<PluginRecord[]> {
    for (const other of this.records) if (other.state === 'blocked') other.stopped()
    await this.takeDown(record)
    return this.bringUp()
  }

  /** Tells all plugins that the node is stopping. */
  announceStop(): void {
    this.#stopping = true
    for (const record of this.records) {
      const { activation } = record
      if (activation !== null) runInContextOf(record, () => activation.announceStop())
    }
  }

  async stopAll(): Promise<void> {
    this.announceStop()
    for (const record of [...this.#up].reverse()) await this.#stop(record)
    // Who was still being set up has nothing that others use.
    for (const record of this.records) if (record.activation !== null) await this.#stop(record)
  }

  async #setUp(record: PluginRecord): Promise<void> {
    const { services, wiring } = this.#parts
    const { plugin } = record
    if (plugin === null) return
    const missing = requiredServices(plugin).find((key) => services.get(key) === undefined)
    if (missing !== undefined) {
      record.blocked(`It needs the service "${missing}" of ${wiring.providerName(missing)}, which is not up.`)
      return
    }
    const { activation, createContext } = this.#parts.createActivation(
      record,
      plugin,
      wiring.offersOf(record),
    )
    record.begins(activation)
    try {
      await runInContextOf(record, () => activation.setUp(createContext()))
      runInContextOf(record, () => activation.publish())
      this.#up.push(record)
      record.active()
    } catch (error) {
      await this.#fail(record, error)
    }
  }

  async #start(record: PluginRecord): Promise<void> {
    const { activation } = record
    if (activation === null) return
    try {
      await runInContextOf(record, () => activation.start())
    } catch (error) {
      await this.takeDown(record)
      await this.#fail(record, error)
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
    const index = this.#up.indexOf(record)
    if (index >= 0) this.#up.splice(index, 1)
    try {
      await this.#release(record)
    } finally {
      record.stopped()
    }
  }

  async #release(record: PluginRecord): Promise<void> {
    const { activation } = record
    if (activation === null) return
    record.ends()
    for (const failure of await runInContextOf(record, () => activation.stop())) {
      this.#parts.log.error(
        { plugin: record.id, phase: 'stop', err: failure.cause ?? failure },
        failure.message,
      )
    }
  }
}
