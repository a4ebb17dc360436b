import { uptime } from 'node:os'
import type { HealthFinding, Log, StateStore } from '@nodekeep/plugin-sdk'

/** A smaller difference is the clock being adjusted, as NTP does, or a measurement that was interrupted. */
const toleranceMs = 2 * 60_000

const checkMs = 60_000
const hourMs = 60 * 60_000

/** The hours of running after which the clock is believed, whatever it said before. */
const hoursOfProof = 24

const stateKey = 'clock'

const lines = {
  steady: 'The clock is right again.',
  behind:
    'The clock is behind a time that the node has already seen. Check it. If it was ahead before and is right now, do nothing: the node believes it after running for 24 hours.',
  jumped:
    'The clock jumped while the node was running. Check it. If it was wrong before and is right now, do nothing: the node believes it after running for 24 hours.',
} as const

interface NodeClockServices {
  readonly state: StateStore
  readonly log: Pick<Log, 'info' | 'warn'>
  /** No clock is before it: when the program was built. */
  readonly earliest: Date | null
  /** Seconds since the machine was started, also while it slept. */
  readonly uptimeSeconds?: () => number
}

/** Returns {@link NodeClock.past} of the last run of a node. */
export async function readPast(state: StateStore): Promise<Date> {
  return pastOf(await storedHours(state))
}

async function storedHours(state: StateStore): Promise<number[]> {
  const stored = await state.get<unknown>(stateKey)
  return Array.isArray(stored) && stored.every(Number.isFinite) ? stored : []
}

function pastOf(hours: readonly number[]): Date {
  return new Date(hours.length < hoursOfProof ? 0 : Math.min(...hours))
}

/**
 * Watches whether the clock of the machine can be believed. It compares the clock with the uptime of the machine, which nobody sets and
 * which goes on while the machine sleeps, and with the times of the last 24 hours for which nodes ran on this data.
 */
export class NodeClock {
  readonly #services: NodeClockServices
  /** The time at the end of each of the last hours of running, oldest first, in milliseconds since the epoch. A start replaces the last. */
  #hours: number[] = []
  /** The believed time at which the machine was started; null while the clock is behind since the start of the node. */
  #machineStart: number | null
  /** When the hour began, by the uptime, in milliseconds. */
  #hourBegan: number
  /** The hours in a row for which the clock has been off. */
  #hoursOff = 0
  #told: keyof typeof lines = 'steady'

  constructor(services: NodeClockServices) {
    this.#services = services
    this.#hourBegan = this.#uptimeMs()
    this.#machineStart = Date.now() - this.#hourBegan
  }

  /** Begins to watch. Until then the clock counts as right. */
  async start(): Promise<() => void> {
    this.#hours = await storedHours(this.#services.state)
    this.#machineStart = null
    if (this.#stateNow() === 'steady') {
      this.#hours.splice(-1, 1, Date.now())
      await this.#store()
    }
    this.#tell()
    const timer = setInterval(() => void this.readClock(), checkMs).unref()
    return () => clearInterval(timer)
  }

  /**
   * The latest time that has certainly passed: each of the last 24 hours of running ended after it. What cannot be undone goes by
   * it, and not by the clock, which may be years ahead for a while. 1970 until the node has run that long.
   */
  get past(): Date {
    return pastOf(this.#hours)
  }

  /** The health check `clock`. */
  check(): HealthFinding {
    const state = this.#stateNow()
    return state === 'steady' ? { ok: true, state } : { ok: false, state, message: lines[state] }
  }

  /** Reads the clock. The watch does it every minute. */
  async readClock(): Promise<void> {
    const now = Date.now()
    const uptimeMs = this.#uptimeMs()
    if (this.#stateNow() === 'steady') {
      this.#machineStart = now - uptimeMs
      this.#hoursOff = 0
      this.#hours = this.#hours.filter((hour) => hour <= now + toleranceMs)
    }
    if (uptimeMs - this.#hourBegan >= hourMs) {
      this.#hourBegan = uptimeMs
      this.#hours = [...this.#hours, now].slice(-hoursOfProof)
      if (this.#stateNow() !== 'steady') this.#hoursOff += 1
      if (this.#hoursOff >= hoursOfProof) this.#machineStart = now - uptimeMs
      await this.#store()
    }
    this.#tell()
  }

  #stateNow(): keyof typeof lines {
    const now = Date.now()
    const machineStart = now - this.#uptimeMs()
    if (this.#machineStart === null) {
      const seen = Math.max(this.#services.earliest?.getTime() ?? 0, ...this.#hours)
      if (now < seen - toleranceMs) return 'behind'
      this.#machineStart = machineStart
    }
    return Math.abs(machineStart - this.#machineStart) <= toleranceMs ? 'steady' : 'jumped'
  }

  #tell(): void {
    const state = this.#stateNow()
    if (state === this.#told) return
    this.#told = state
    if (state === 'steady') this.#services.log.info(lines.steady)
    else this.#services.log.warn(lines[state])
  }

  async #store(): Promise<void> {
    try {
      await this.#services.state.set(stateKey, this.#hours)
    } catch (err) {
      this.#services.log.warn(
        { err },
        'The time could not be stored, which the next start compares with the clock.',
      )
    }
  }

  #uptimeMs(): number {
    return (this.#services.uptimeSeconds ?? uptime)() * 1000
  }
}
