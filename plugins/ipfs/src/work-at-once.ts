import { FairSlots, NodekeepError } from '@nodekeep/plugin-sdk'

interface WorkAtOnceOptions {
  /** In all. */
  readonly most: number
  /** Of one key, such as a user. */
  readonly mostPerKey: number
  /** The message to a key that has as much work as it may. */
  readonly tooMuch: string
}

/** Bounds the work that runs at a time. Nothing waits: what is too much is refused. */
export class WorkAtOnce {
  readonly #options: WorkAtOnceOptions
  readonly #slots: FairSlots
  #running = 0

  constructor(options: WorkAtOnceOptions) {
    this.#options = options
    this.#slots = new FairSlots({ mostPerKey: options.mostPerKey })
  }

  /** @throws NodekeepError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE; the error of the work */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const headers = { 'retry-after': '5' }
    if (this.#slots.isFull(key))
      throw new NodekeepError('TOO_MANY_REQUESTS', this.#options.tooMuch, { headers })
    if (this.#running >= this.#options.most)
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'The node is busy with others. Try again later.', {
        headers,
      })
    this.#running += 1
    try {
      return await this.#slots.run(key, work)
    } finally {
      this.#running -= 1
    }
  }
}
