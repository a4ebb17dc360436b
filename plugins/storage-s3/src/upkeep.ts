import { setTimeout } from 'node:timers/promises'
import type { Log } from '@nodekeep/plugin-sdk'
import type { Bucket } from './bucket.ts'
import { remedyFor } from './server/failures.ts'

/** Time between two probes, in milliseconds. A server may be updated. */
const probeEveryMs = 7 * 24 * 60 * 60_000
/** The longest time of a probe, in milliseconds. */
const probeMs = 5 * 60_000
/** Time after which a failed probe is tried again, in milliseconds. */
const retryMs = 60_000

/** Probes a bucket when it is first used, and every week, and tells the log what the server does not keep. */
export class Upkeep {
  readonly #bucket: Bucket
  readonly #log: Pick<Log, 'info' | 'warn'>
  readonly #end = new AbortController()
  #running: Promise<void> | undefined
  /** The lines of the probe before, which are not repeated. */
  #told: readonly string[] = []

  constructor(bucket: Bucket, log: Pick<Log, 'info' | 'warn'>) {
    this.#bucket = bucket
    this.#log = log
  }

  get hasBegun(): boolean {
    return this.#running !== undefined
  }

  begin(): void {
    this.#running = this.#run()
  }

  async end(): Promise<void> {
    this.#end.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#end
    while (!signal.aborted) {
      const waitMs = await this.#probe(signal)
      await setTimeout(waitMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  /** @returns the milliseconds until the next probe */
  async #probe(signal: AbortSignal): Promise<number> {
    try {
      const { findings } = await this.#bucket.probe(AbortSignal.any([signal, AbortSignal.timeout(probeMs)]))
      const missing = findings.filter(({ isKept }) => !isKept)
      this.#tell(
        missing.map(({ promise, otherwise, isNeeded }) => ({
          level: isNeeded ? 'warn' : 'info',
          line: `The S3 server does not keep this: ${promise} ${otherwise}`,
        })),
      )
      return probeEveryMs
    } catch (error) {
      if (signal.aborted) return 0
      const remedy = remedyFor(error, this.#bucket.name) ?? 'The node tries again every minute.'
      const line = `The S3 server of the files cannot be used now. ${remedy}`
      this.#tell([{ level: 'warn', line, err: error }])
      return retryMs
    }
  }

  #tell(
    found: readonly { readonly level: 'info' | 'warn'; readonly line: string; readonly err?: unknown }[],
  ): void {
    for (const { level, line, ...rest } of found)
      if (!this.#told.includes(line)) this.#log[level]({ bucket: this.#bucket.name, ...rest }, line)
    this.#told = found.map(({ line }) => line)
  }
}
