import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { cpus } from 'node:os'
import type { FileIndex } from '@nodekeep/plugin-sdk'
import { diskSpace } from '@nodekeep/plugin-sdk/data-folder'
import type { Measurement } from './periods.ts'

/** The channel on which Node tells of each request to a server of the process. */
const requestChannel = 'http.server.request.start'

/** Measures storage and load. Each measurement is of the time since the one before. */
export class Meter {
  readonly #folder: string
  readonly #index: FileIndex | undefined
  #requests = 0
  #processors = processorTimes()
  readonly #count = () => {
    this.#requests += 1
  }

  /**
   * Begins to measure.
   *
   * @param folder one on the disk whose room counts
   * @param index `undefined` for a node without files
   */
  constructor(folder: string, index: FileIndex | undefined) {
    this.#folder = folder
    this.#index = index
    subscribe(requestChannel, this.#count)
  }

  async measure(): Promise<Measurement> {
    const [space, files] = await Promise.all([diskSpace(this.#folder).catch(() => null), this.#fileBytes()])
    const [before, now] = [this.#processors, processorTimes()]
    const requests = this.#requests
    this.#processors = now
    this.#requests = 0
    // A machine may get or lose processors while it runs.
    const processorMs = Math.max(0, now.all - before.all)
    const busyMs = Math.min(processorMs, Math.max(0, now.busy - before.busy))
    return { free: space?.free ?? null, total: space?.total ?? null, files, processorMs, busyMs, requests }
  }

  end(): void {
    unsubscribe(requestChannel, this.#count)
  }

  async #fileBytes(): Promise<number | null> {
    if (this.#index === undefined) return null
    try {
      let sum = 0
      for await (const { bytes, isComplete } of this.#index.usage()) {
        // A sum that is too small would look as if files had come later.
        if (!isComplete) return null
        sum += bytes
      }
      return sum
    } catch {
      // The health check of the files tells what is wrong with them.
      return null
    }
  }
}

/** The processor times of the machine since its start, in milliseconds. */
function processorTimes(): { readonly all: number; readonly busy: number } {
  const sums = cpus().map(({ times }) => {
    const all = Object.values(times).reduce((sum, ms) => sum + ms, 0)
    return { all, busy: all - times.idle }
  })
  return sums.reduce((sum, { all, busy }) => ({ all: sum.all + all, busy: sum.busy + busy }), {
    all: 0,
    busy: 0,
  })
}
