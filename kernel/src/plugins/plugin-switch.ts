import { type Log, LoginProviders, NodekeepError, type StateStore, tokenKey } from '@nodekeep/plugin-sdk'
import type { Registries } from '../services/registry.ts'
import { logImpaired } from './log-impaired.ts'
import type { PluginHost } from './plugin-host.ts'
import type { PluginRecord } from './plugin-record.ts'

const stateKey = 'plugins.switchedOff'

/** The plugins that were switched off at run time, as the state remembers them. */
export async function readSwitchedOff(state: StateStore): Promise<ReadonlySet<string>> {
  return new Set((await state.get<string[]>(stateKey)) ?? [])
}

/**
 * Switches plugins off and on while the node runs. The choice is remembered; it only ever takes away from what
 * configuration enables.
 */
export class PluginSwitch {
  readonly #host: PluginHost
  readonly #registries: Registries
  readonly #state: StateStore
  readonly #log: Log
  #last: Promise<unknown> = Promise.resolve()

  constructor(host: PluginHost, registries: Registries, state: StateStore, log: Log) {
    this.#host = host
    this.#registries = registries
    this.#state = state
    this.#log = log
  }

  /**
   * Stops a plugin and those that require it.
   *
   * @throws NodekeepError NOT_FOUND, or CONFLICT when the node cannot do without it
   */
  disable(id: string): Promise<PluginRecord> {
    return this.#inTurn(async () => {
      const record = this.#find(id)
      if (record.state === 'disabled') return record
      this.#refuseIndispensable(record)
      await this.#remember(id, true)
      if (record.isUp) await this.#host.takeDown(record)
      record.disabled('switched off at run time')
      logImpaired(this.#log, await this.#host.bringUp())
      return record
    })
  }

  /**
   * Sets a plugin up again, also one that failed, and those that waited for it.
   *
   * @throws NodekeepError NOT_FOUND, or CONFLICT when configuration switches it off or it cannot be loaded
   */
  enable(id: string): Promise<PluginRecord> {
    return this.#inTurn(async () => {
      const record = this.#find(id)
      if (record.isUp) return record
      if (!record.wish.enabled) {
        throw new NodekeepError(
          'CONFLICT',
          `"${id}" is switched off by ${record.wish.where}. Change that and restart.`,
        )
      }
      if (record.plugin === null) {
        throw new NodekeepError(
          'CONFLICT',
          `"${id}" could not be loaded (${record.failure?.message ?? 'see the log'}). Mend that and restart the node.`,
        )
      }
      await this.#remember(id, false)
      record.stopped()
      logImpaired(this.#log, await this.#host.renew(record))
      return record
    })
  }

  #find(id: string): PluginRecord {
    const record = this.#host.records.find((candidate) => candidate.id === id)
    if (record === undefined) throw new NodekeepError('NOT_FOUND', `There is no plugin "${id}".`)
    return record
  }

  #refuseIndispensable(record: PluginRecord): void {
    if (record.wish.required) {
      throw new NodekeepError(
        'CONFLICT',
        `"${record.id}" is required. Say "required": false at ${record.wish.where} to make it optional.`,
      )
    }
    const bereft = this.#host.requirersOf(record).find(({ wish }) => wish.required)
    if (bereft !== undefined) {
      throw new NodekeepError('CONFLICT', `"${bereft.id}" is required and needs "${record.id}".`)
    }
    const logins = this.#registries.entries(tokenKey(LoginProviders))
    const own = [record, ...this.#host.requirersOf(record)].flatMap(({ id }) => logins.namesOf(id))
    if (own.length > 0 && own.length === logins.names().length) {
      throw new NodekeepError(
        'CONFLICT',
        `"${record.id}" is the last way to sign in. Enable another one first.`,
      )
    }
  }

  async #remember(id: string, off: boolean): Promise<void> {
    const ids = new Set(await readSwitchedOff(this.#state))
    if (off) ids.add(id)
    else ids.delete(id)
    await this.#state.set(stateKey, [...ids])
  }

  /** One change at a time: each sees what the one before has left. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work)
    this.#last = turn.catch(() => {})
    return turn
  }
}
