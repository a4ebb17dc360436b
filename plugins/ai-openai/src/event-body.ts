import type { IncomingMessage } from 'node:http'
import { WholeEvents } from './whole-events.ts'

/** How long a server may take to end its answer after the last event that anybody wants, in milliseconds. */
const graceMs = 1000

type Piece = IteratorResult<Uint8Array, undefined>

/**
 * The body of a streamed answer, in pieces that end with an event. No more is taken from the server than is asked for,
 * but for what fits into the buffers of the connection.
 *
 * It is on the path of every piece of every reply, so it is no generator, and takes all at once that has come.
 */
export class EventBody implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #answer: IncomingMessage
  readonly #events: WholeEvents
  #wanted: PromiseWithResolvers<Piece> | null = null
  #failure: Error | null = null
  #left = false

  /** @param maxBytes the longest event */
  constructor(answer: IncomingMessage, maxBytes: number) {
    this.#answer = answer
    this.#events = new WholeEvents(maxBytes)
    answer.on('readable', this.#read)
    answer.on('end', this.#read)
    answer.on('error', this.#fail)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<Piece> {
    this.#wanted = Promise.withResolvers<Piece>()
    const { promise } = this.#wanted
    this.#read()
    return promise
  }

  /**
   * Takes what is left, so that the connection can be used again: the SDK leaves after the last event, and not with the
   * end of the answer. Who wants no more of a reply aborts the call.
   */
  async return(): Promise<Piece> {
    this.#left = true
    this.#settle({ done: true, value: undefined })
    if (!this.#answer.complete) {
      const impatience = setTimeout(() => this.#answer.destroy(), graceMs).unref()
      this.#answer.once('close', () => clearTimeout(impatience))
    }
    this.#read()
    return { done: true, value: undefined }
  }

  readonly #read = (): void => {
    try {
      while (this.#left || this.#wanted !== null) {
        const chunk = this.#answer.read() as Buffer | null
        if (chunk === null) break
        const events = this.#left ? null : this.#events.take(chunk)
        if (events !== null) this.#settle({ done: false, value: events })
      }
      if (this.#failure !== null) this.#wanted?.reject(this.#failure)
      else if (this.#answer.readableEnded) this.#end()
    } catch (error) {
      // Nobody reads on after an error, so that the server is told.
      this.#answer.destroy()
      this.#fail(error as Error)
    }
  }

  /** An event that did not end comes as it is: the SDK knows what to do with it. */
  #end(): void {
    const rest = this.#wanted === null ? null : this.#events.rest()
    this.#settle(rest === null ? { done: true, value: undefined } : { done: false, value: rest })
  }

  #settle(piece: Piece): void {
    this.#wanted?.resolve(piece)
    this.#wanted = null
  }

  readonly #fail = (error: Error): void => {
    this.#failure ??= error
    this.#wanted?.reject(this.#failure)
    this.#wanted = null
  }
}
