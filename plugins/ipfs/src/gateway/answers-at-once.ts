import { addressGroup, FairSlots, NodekeepError } from '@nodekeep/plugin-sdk'

/** Answers at a time, each with up to three blocks of at most 2 MiB in memory. */
const most = 64

/** Answers at a time to one address. A browser opens six connections. */
const mostPerAddress = 16

/** Bounds the answers that are given at a time. Nothing waits: a request too many is refused. */
export class AnswersAtOnce {
  readonly #slots = new FairSlots({ mostPerKey: mostPerAddress })
  #running = 0

  /** @throws NodekeepError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE; the error of the work */
  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    const group = addressGroup(address)
    const headers = { 'retry-after': '5' }
    if (this.#slots.isFull(group))
      throw new NodekeepError(
        'TOO_MANY_REQUESTS',
        `The node gives at most ${mostPerAddress} answers at a time to your address. Try again when one has ended.`,
        { headers },
      )
    if (this.#running >= most)
      throw new NodekeepError(
        'SERVICE_UNAVAILABLE',
        'The node gives many answers at this time. Try again later.',
        {
          headers,
        },
      )
    this.#running += 1
    try {
      return await this.#slots.run(group, work)
    } finally {
      this.#running -= 1
    }
  }
}
