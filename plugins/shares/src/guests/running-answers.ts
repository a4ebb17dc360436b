import { finished } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'

/** Downloads and uploads of all links at a time. */
const most = 256

/** Those of one link. */
const mostOfLink = 64

/** Those of one address by one link. A browser opens six connections. */
const mostOfAddress = 12

interface RunningAnswer {
  readonly share: string
  readonly address: string
  readonly reply: FastifyReply
}

/** The downloads and uploads that run. They are bounded, and end with their link. */
export class RunningAnswers {
  readonly #running = new Set<RunningAnswer>()

  /**
   * Counts an answer until its connection is done with it.
   *
   * @param address the group of the guest's address
   * @throws NodekeepError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
   */
  begin(share: string, address: string, reply: FastifyReply): void {
    const headers = { 'retry-after': '5' }
    const ofLink = [...this.#running].filter((other) => other.share === share)
    if (ofLink.filter((other) => other.address === address).length >= mostOfAddress) {
      const message = `Your address has ${mostOfAddress} transfers by this link at a time. Try again when one has ended.`
      throw new NodekeepError('TOO_MANY_REQUESTS', message, { headers })
    }
    if (ofLink.length >= mostOfLink || this.#running.size >= most)
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'Too many guests are here now. Try again later.', {
        headers,
      })
    const answer = { share, address, reply }
    this.#running.add(answer)
    finished(reply.raw, () => this.#running.delete(answer))
  }

  /** Breaks the answers of a link off. */
  end(share: string): void {
    for (const answer of this.#running) if (answer.share === share) answer.reply.raw.destroy()
  }
}
