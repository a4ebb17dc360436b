import { type Log, Mutex, type StateStore } from '@nodekeep/plugin-sdk'
import { type Measurement, type Periods, withMeasurement } from './periods.ts'

const stateKey = 'periods'
const nothing: Periods = { hours: [], days: [] }

/**
 * The history of the node. The state of the plugin has it. It is written when an hour has ended, and at the end of the node, so that a
 * disk which wears out is spared: a crash costs the measurements of the hour.
 */
export class History {
  readonly #state: StateStore
  readonly #log: Pick<Log, 'warn'>
  readonly #storing = new Mutex()
  #periods: Periods = nothing
  /** Whether what is stored lacks measurements. */
  #isBehind = false

  constructor(state: StateStore, log: Pick<Log, 'warn'>) {
    this.#state = state
    this.#log = log
  }

  async load(): Promise<void> {
    this.#periods = (await this.#state.get<Periods>(stateKey)) ?? nothing
  }

  get periods(): Periods {
    return this.#periods
  }

  /** @param at milliseconds since 1970 */
  async add(measured: Measurement, at: number): Promise<void> {
    const before = this.#periods
    this.#periods = withMeasurement(before, measured, at)
    this.#isBehind = true
    if (this.#periods.hours.at(-1)?.begins !== before.hours.at(-1)?.begins) await this.store()
  }

  /** Stores what is not stored yet. If the disk is full, it stays in memory, and the next hour tries again. */
  store(): Promise<void> {
    return this.#storing.run(async () => {
      if (!this.#isBehind) return
      this.#isBehind = false
      try {
        await this.#state.set(stateKey, this.#periods)
      } catch (err) {
        this.#isBehind = true
        this.#log.warn(
          { err },
          'The history of storage and load could not be stored. The next hour tries again.',
        )
      }
    })
  }
}
