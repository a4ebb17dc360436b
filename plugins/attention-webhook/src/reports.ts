import { createHash } from 'node:crypto'
import type { Attention, Log, StateStore } from '@nodekeep/plugin-sdk'
import { attentionMessage, type Message } from './message.ts'
import type { Receiver } from './receiver.ts'

/** The longest pause between two attempts, in milliseconds. */
const longestPauseMs = 60 * 60_000

const stateKey = 'report'

/** The part that outlives a restart. */
interface Stored {
  /** A digest of the address. Another receiver knows nothing yet. */
  readonly receiver: string
  /** The condition of the node that the receiver has taken; `null` while nobody knows whether a message has arrived. */
  readonly told: string | null
  /** When it has taken it, in ISO 8601; `null` if never. */
  readonly toldAt: string | null
  /** The message that has to be sent, and the condition that it tells. */
  readonly pending: { readonly condition: string; readonly message: Message } | null
}

interface ReportsServices {
  readonly receiver: Receiver
  readonly state: StateStore
  readonly log: Pick<Log, 'info' | 'warn'>
  /** The pause after the first attempt that failed, in milliseconds. It doubles with each further one. */
  readonly pauseMs: number
  /** The address of the node. */
  readonly node: () => string
}

/**
 * Tells the receiver each change of what needs the owner, once. There is no queue: a message that did not arrive is sent again until
 * it arrives or the node has changed once more, and then the newest one counts. Pauses go by the monotonic clock.
 */
export class Reports {
  readonly #services: ReportsServices
  readonly #receiverId: string
  #stored: Stored | null = null
  /** The condition of the last look. */
  #seen: string | null = null
  #failures = 0
  #notBefore = Number.NEGATIVE_INFINITY
  #problem: string | null = null

  constructor(services: ReportsServices) {
    this.#services = services
    this.#receiverId = createHash('sha256').update(services.receiver.url).digest('hex')
  }

  /** When the receiver took the last message, and why the newest one has not arrived; `null` for neither. */
  async status(): Promise<{ readonly toldAt: string | null; readonly problem: string | null }> {
    return { toldAt: (await this.#record()).toldAt, problem: this.#problem }
  }

  /**
   * Takes what needs the owner now, and sends a message if that is due.
   *
   * @throws the reason of the signal; errors of the state
   */
  async look(attention: readonly Attention[], signal: AbortSignal): Promise<void> {
    const condition = conditionOf(attention)
    const isSteady = condition === this.#seen
    this.#seen = condition
    // A check that was late once, or a connection that is just coming up, is no news.
    if (!isSteady) return
    const { told, pending } = await this.#record()
    if (told === condition) return
    if (pending?.condition !== condition) {
      this.#failures = 0
      this.#notBefore = Number.NEGATIVE_INFINITY
      // Before it is sent: the answer may get lost, and then the receiver has it anyway.
      const message = attentionMessage(attention, this.#services.node())
      await this.#store({ told: null, pending: { condition, message } })
    }
    if (performance.now() >= this.#notBefore) await this.#send(signal)
  }

  async #send(signal: AbortSignal): Promise<void> {
    const { receiver, log, pauseMs } = this.#services
    const { pending } = await this.#record()
    if (pending === null) return
    const problem = await receiver.send(pending.message, signal)
    this.#problem = problem
    if (problem === null) {
      this.#failures = 0
      await this.#store({ told: pending.condition, toldAt: new Date().toISOString(), pending: null })
      log.info({ host: receiver.host, message: pending.message.id }, 'The receiver of the webhook was told.')
      return
    }
    const pause = Math.min(pauseMs * 2 ** this.#failures, longestPauseMs)
    this.#failures += 1
    this.#notBefore = performance.now() + pause
    log.warn(
      { host: receiver.host, message: pending.message.id, nextInSeconds: Math.round(pause / 1000) },
      `A message could not be sent: ${problem}`,
    )
  }

  async #record(): Promise<Stored> {
    if (this.#stored === null) {
      const known = await this.#services.state.get<Stored>(stateKey)
      const isKnown = known?.receiver === this.#receiverId
      const unknown = { receiver: this.#receiverId, told: conditionOf([]), toldAt: null, pending: null }
      this.#stored ??= isKnown ? known : unknown
    }
    return this.#stored
  }

  async #store(change: Partial<Stored>): Promise<void> {
    const changed = { ...(await this.#record()), ...change }
    this.#stored = changed
    await this.#services.state.set(stateKey, changed)
  }
}

/** A text that changes when something new needs the owner, or does not any more. Sentences may count hours, so they do not matter. */
function conditionOf(attention: readonly Attention[]): string {
  return JSON.stringify(attention.map(({ name, state }) => [name, state]).toSorted())
}
