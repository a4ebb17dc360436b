import type { AiProvider, ChatDelta, ChatRequest, NodekeepError, ReplyDelta } from '@nodekeep/plugin-sdk'
import { brokeOff, tooLong, tooSlow } from './call-failure.ts'
import { bytesOfDelta, readDelta } from './delta.ts'
import { providerFailure } from './provider-failure.ts'
import { ReplySource } from './reply-source.ts'
import { ToolCallOrder } from './tool-call-order.ts'
import { Turns } from './turns.ts'

export interface CallLimits {
  /** Longest wait for the first piece. */
  readonly firstMs: number
  /** Longest pause between two pieces. */
  readonly betweenMs: number
  /** Bytes of UTF-8. */
  readonly replyBytes: number
}

/** How a call came to its end: with `finish`, by a failure, or because nobody wanted the rest. */
export type CallOutcome = 'finished' | 'failed' | 'left'

type Piece = IteratorResult<ReplyDelta, undefined>
type Usage = Extract<ReplyDelta, { type: 'usage' }>

const end: Piece = Object.freeze({ done: true, value: undefined })

/**
 * One call of one provider, and the reply as it should be: well-formed pieces, at most one `usage`, `finish` last, all
 * within the limits. Whatever the provider does, each piece that is asked for comes or fails; `fail` ends the call at
 * once, also when the provider does not listen to its signal.
 *
 * It is on the path of every piece of every reply, so it makes one promise for each and shares one timer among them.
 */
export class ProviderCall implements AsyncIterator<ReplyDelta, undefined> {
  readonly #name: string
  readonly #limits: CallLimits
  readonly #ready: ReplyDelta[] = []
  readonly #turns = new Turns()
  readonly #calls = new ToolCallOrder()
  #source: ReplySource | undefined
  #timer: NodeJS.Timeout | undefined
  #resolve: ((piece: Piece) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #pieces = 0
  #isAsked = false
  #refused = true
  #usage: Usage | null = null
  #bytes = 0
  #failure: { readonly error: unknown } | undefined
  #outcome: CallOutcome | undefined
  #whenOver: ((outcome: CallOutcome) => void) | undefined

  constructor(name: string, limits: CallLimits) {
    this.#name = name
    this.#limits = limits
  }

  /** What the provider said of tokens, so far. */
  get usage(): Usage | null {
    return this.#usage
  }

  /** What the model has written so far, with its thoughts, in bytes of UTF-8. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the provider was not asked, or failed before its first piece: then it did nothing that anybody would pay for. */
  get refused(): boolean {
    return this.#refused
  }

  /**
   * Asks the provider, and resolves when it has the first piece. That piece is the first that `next` gives.
   *
   * @throws NodekeepError
   */
  async begin(provider: AiProvider, request: ChatRequest): Promise<void> {
    if (this.#outcome === undefined) this.#open(provider, request)
    const first = await this.next()
    if (first.value !== undefined) this.#ready.unshift(first.value)
    if (this.#outcome === undefined) this.#limit(this.#limits.betweenMs, 'stopped in the middle of its reply')
  }

  next(): Promise<Piece> {
    const value = this.#ready.shift()
    if (value !== undefined) return Promise.resolve({ done: false, value })
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      return Promise.reject(error)
    }
    if (this.#outcome !== undefined) return Promise.resolve(end)
    if (this.#reject !== undefined) return Promise.reject(new Error('Ask for one piece at a time.'))
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#pullInTurn()
    })
  }

  async return(): Promise<Piece> {
    this.#ready.length = 0
    this.#resolve?.(end)
    this.#leave('left', new Error('Nobody wants the rest of the reply.'))
    return end
  }

  /** Ends the call with an error, which takes the place of all that has not been handed out. */
  fail(error: unknown): void {
    if (this.#outcome !== undefined) return
    this.#ready.length = 0
    if (this.#reject === undefined) this.#failure = { error }
    else this.#reject(error)
    this.#leave('failed', error)
  }

  /** Calls the listener when the call is over; at once when it is. */
  whenOver(listener: (outcome: CallOutcome) => void): void {
    if (this.#outcome === undefined) this.#whenOver = listener
    else listener(this.#outcome)
  }

  #open(provider: AiProvider, request: ChatRequest): void {
    const abort = new AbortController()
    this.#refused = false
    this.#limit(this.#limits.firstMs, 'did not begin to reply in time')
    try {
      this.#source = new ReplySource(provider.chat(request, abort.signal), abort)
    } catch (error) {
      this.#fault(error)
      abort.abort(error)
    }
  }

  /** Asks for a piece, in a later turn when it is that of other replies. */
  #pullInTurn(): void {
    this.#turns.take(this.#pieces, this.#pull)
  }

  readonly #pull = (): void => {
    if (this.#outcome !== undefined) return
    this.#isAsked = true
    this.#timer?.refresh()
    this.#source?.next(this.#take, this.#fault)
  }

  readonly #take = (result: IteratorResult<unknown>): void => {
    this.#isAsked = false
    if (this.#outcome !== undefined) return
    try {
      if (result.done === true) {
        this.#end(brokeOff(this.#name))
        return
      }
      const delta = readDelta(result.value)
      if (delta === null || (delta.type === 'tool_call' && !this.#calls.fits(delta)))
        throw new TypeError('It yielded what is no piece of a reply.')
      this.#accept(delta)
    } catch (error) {
      this.#fault(error)
    }
  }

  readonly #fault = (thrown: unknown): void => this.#end(providerFailure(this.#name, thrown))

  /** Ends the call with what the provider did. */
  #end(failure: NodekeepError): void {
    if (this.#outcome !== undefined) return
    this.#refused = this.#pieces === 0 && failure.code !== 'UPSTREAM_TIMEOUT'
    this.fail(failure)
  }

  #accept(delta: ChatDelta): void {
    this.#pieces += 1
    if (delta.type === 'finish') {
      this.#finish(delta)
      return
    }
    if (delta.type === 'usage') this.#usage = delta
    else this.#bytes += bytesOfDelta(delta)
    if (this.#bytes > this.#limits.replyBytes) this.fail(tooLong(this.#name))
    else if (delta.type === 'usage' || delta.type === 'reasoning') this.#pullInTurn()
    else if (delta.type === 'text' && delta.text === '') this.#pullInTurn()
    else this.#hand(delta)
  }

  #hand(value: ReplyDelta): void {
    const resolve = this.#resolve
    this.#resolve = this.#reject = undefined
    resolve?.({ done: false, value })
  }

  /** The reply is whole. What the provider does after its `finish` concerns nobody. */
  #finish(finish: ReplyDelta): void {
    if (this.#usage !== null) this.#ready.push(finish)
    this.#hand(this.#usage ?? finish)
    this.#over('finished')
    this.#source?.close()
  }

  #leave(outcome: CallOutcome, reason: unknown): void {
    if (this.#outcome !== undefined) return
    this.#over(outcome)
    this.#source?.leave(reason)
  }

  #over(outcome: CallOutcome): void {
    clearTimeout(this.#timer)
    this.#outcome = outcome
    this.#whenOver?.(outcome)
  }

  /** Limits each wait for a piece. The pause of a reader who is slow is not the provider's, nor is that of the node. */
  #limit(ms: number, what: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      if (this.#isAsked) this.fail(tooSlow(this.#name, what))
    }, ms)
  }
}
