import {
  conflict,
  type Log,
  LoginProviders,
  Mutex,
  NodekeepError,
  type StateStore,
} from '@nodekeep/plugin-sdk'
import { tokenKey } from '@nodekeep/plugin-sdk/host'
import type { Registries } from '../services/registry.ts'
import type { StateStores } from '../state/state-stores.ts'
import { logImpaired, type PluginHost } from './plugin-host.ts'
import type { PluginRecord, PluginRecords } from './plugin-record.ts'

const stateKey = 'plugins.switchedOff'

/** Reads the ids of the plugins that were switched off at run time. */
export async function readSwitchedOff(state: StateStore): Promise<ReadonlySet<string>> {
  return new Set((await state.get<string[]>(stateKey)) ?? [])
}

interface PluginSwitchServices {
  readonly records: PluginRecords
  readonly pluginHost: PluginHost
  readonly registries: Registries
  readonly storeScopes: () => Promise<void>
  readonly stateStores: StateStores
  readonly log: Log
}

/**
 * Switches plugins off and on while the node runs. The choice is stored. It can only disable a plugin that the
 * configuration enables.
 */
export class PluginSwitch {
  readonly #services: PluginSwitchServices
  /** Each change sees the result of the one before. */
  readonly #changes = new Mutex()

  constructor(services: PluginSwitchServices) {
    this.#services = services
  }

  /**
   * Stops a plugin and those that require it.
   *
   * @throws NodekeepError NOT_FOUND, or CONFLICT when the node needs it
   */
  disable(id: string): Promise<PluginRecord> {
    return this.#changes.run(async () => {
      const record = this.#find(id)
      if (record.state === 'disabled') return record
      this.#refuseIndispensable(record)
      await this.#storeChoice(id, true)
      if (record.isUp) await this.#services.pluginHost.takeDown(record)
      record.disabled('switched off at run time')
      logImpaired(this.#services.log, await this.#services.pluginHost.bringUp())
      await this.#services.storeScopes()
      return record
    })
  }

  /**
   * Sets a plugin up again, also one that failed, and the plugins that were blocked without it.
   *
   * @throws NodekeepError NOT_FOUND, or CONFLICT when configuration switches it off or it cannot be loaded
   */
  enable(id: string): Promise<PluginRecord> {
    return this.#changes.run(async () => {
      const record = this.#find(id)
      if (record.isUp) return record
      if (!record.entry.enabled) {
        throw conflict(
          `"${id}" is switched off by ${record.entry.where}. Enable it there and restart the node.`,
        )
      }
      if (record.plugin === null) {
        throw conflict(
          `"${id}" could not be loaded (${record.failure?.message ?? 'see the log'}). Fix the cause and restart the node.`,
        )
      }
      await this.#storeChoice(id, false)
      record.stopped()
      logImpaired(this.#services.log, await this.#services.pluginHost.renew(record))
      await this.#services.storeScopes()
      return record
    })
  }

  #find(id: string): PluginRecord {
    const record = this.#services.records.get(id)
    if (record === undefined) throw new NodekeepError('NOT_FOUND', `There is no plugin "${id}".`)
    return record
  }

  #refuseIndispensable(record: PluginRecord): void {
    if (record.entry.required) {
      throw conflict(
        `"${record.id}" is required. Set "required": false at ${record.entry.where} to make it optional.`,
      )
    }
    const requirer = this.#services.pluginHost.requirersOf(record).find(({ entry }) => entry.required)
    if (requirer !== undefined) {
      throw conflict(`"${requirer.id}" is required and needs "${record.id}".`)
    }
    const logins = this.#services.registries.entries(tokenKey(LoginProviders))
    const stopped = [record, ...this.#services.pluginHost.requirersOf(record)]
    const stoppedLogins = stopped.flatMap(({ id }) => logins.namesOf(id))
    if (stoppedLogins.length > 0 && stoppedLogins.length === logins.names().length) {
      throw conflict(`"${record.id}" is the last way to sign in. Enable another login provider first.`)
    }
  }

  async #storeChoice(id: string, off: boolean): Promise<void> {
    const state = this.#services.stateStores.for('@kernel')
    const ids = new Set(await readSwitchedOff(state))
    if (off) ids.add(id)
    else ids.delete(id)
    await state.set(stateKey, [...ids])
  }
}
