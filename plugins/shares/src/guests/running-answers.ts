import { finished } from 'node:stream'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { FastifyReply } from 'fastify'

/** Downloads and uploads of all links at a time. */
const mostOfAll = 256

/** Those of one link. */
const mostOfLink = 128

/** Those of one address by one link. A browser opens six connections, and the guests of a party who upload have one address. */
const mostOfAddress = { download: 12, upload: 64 } as const

/** An answer that takes long, or that receives much. */
interface RunningAnswer {
  readonly share: string
  readonly kind: keyof typeof mostOfAddress
  /** The group of the guest's address. */
  readonly address: string
}

/** The downloads and uploads that run. They are bounded, and end with their link. */
export class RunningAnswers {
  readonly #running = new Map<FastifyReply, RunningAnswer>()

  /**
   * Counts an answer until its connection is done with it.
   *
   * @throws NodekeepError TOO_MANY_REQUESTS, SERVICE_UNAVAILABLE
   */
  begin(reply: FastifyReply, answer: RunningAnswer): void {
    const headers = { 'retry-after': '5' }
    const ofLink = [...this.#running.values()].filter(({ share }) => share === answer.share)
    const alike = ofLink.filter(({ kind, address }) => kind === answer.kind && address === answer.address)
    const most = mostOfAddress[answer.kind]
    if (alike.length >= most) {
      const message = `Your address has ${most} ${answer.kind}s by this link at a time. Try again when one has ended.`
      throw new NodekeepError('TOO_MANY_REQUESTS', message, { headers })
    }
    if (ofLink.length >= mostOfLink || this.#running.size >= mostOfAll)
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'Too many guests are here now. Try again later.', {
        headers,
      })
    this.#running.set(reply, answer)
    finished(reply.raw, () => this.#running.delete(reply))
  }

  /** Breaks the answers of a link off. */
  end(share: string): void {
    for (const [reply, answer] of this.#running) if (answer.share === share) reply.raw.destroy()
  }
}
