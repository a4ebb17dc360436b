import {
  type AiProvider,
  type ChatDelta,
  type ChatRequest,
  NodekeepError,
  type ReplyDelta,
} from '@nodekeep/plugin-sdk'
import { providerFailure } from '../provider-failure.ts'
import { bytesOf, isWellFormed } from './delta.ts'
import { ProviderStream } from './provider-stream.ts'
import { ThinkTags } from './think-tags.ts'

export interface CallLimits {
  /** Longest wait for each piece, up to the first piece of the reply, in milliseconds. */
  readonly firstMs: number
  /** Longest wait for each further piece, in milliseconds. */
  readonly betweenMs: number
  /** Longest reply with its thoughts, in bytes of UTF-8. */
  readonly replyBytes: number
}

/** How a call ended: with `finish`, by a failure, or because its reader left. */
export type CallOutcome = 'finished' | 'failed' | 'left'

type Step = IteratorResult<ReplyDelta, undefined>
type Usage = Extract<ReplyDelta, { type: 'usage' }>

/**
 * Pieces that are read before the rest of the node gets a turn of the event loop. A provider with its whole reply in
 * memory would else hold everything up.
 */
const piecesPerTurn = 16

/**
 * Most pieces in a row that add nothing, such as empty texts. Models write fewer tokens in one reply, so a model that
 * hides its thoughts stays below.
 */
const maxEmptyPieces = 200_000

/**
 * One call of one provider. Its pieces are the reply as the contract `AiChats` promises it: well-formed, within the
 * limits, with at most one `usage`, and `finish` last. `fail` ends the call at once, whatever the provider does.
 */
export class ProviderCall implements AsyncIterator<ReplyDelta, undefined> {
  readonly #name: string
  readonly #limits: CallLimits
  readonly #report: (failure: NodekeepError) => NodekeepError
  readonly #stream: ProviderStream<ChatDelta>
  readonly #reply: AsyncGenerator<ReplyDelta, undefined>
  #first: Step | undefined
  #outcome: CallOutcome | undefined
  #whenOver: ((outcome: CallOutcome) => void) | undefined
  #usage: Usage | null = null
  #bytes = 0
  #refused = true

  /**
   * @param name the name of the provider, for messages
   * @param report called with a failure after the reply began, before the reader gets its result
   */
  constructor(
    name: string,
    provider: AiProvider,
    request: ChatRequest,
    limits: CallLimits,
    report: (failure: NodekeepError) => NodekeepError,
  ) {
    this.#name = name
    this.#limits = limits
    this.#report = report
    this.#stream = new ProviderStream((signal) => {
      this.#refused = false
      return provider.chat(request, signal)
    })
    this.#reply = this.#read()
  }

  /** The tokens that the provider counted so far. */
  get usage(): Usage | null {
    return this.#usage
  }

  /** The length of the model's text so far, with its thoughts, in bytes of UTF-8. */
  get bytes(): number {
    return this.#bytes
  }

  /** Whether the provider was not asked, or failed before its first piece. Such a call costs nothing. */
  get refused(): boolean {
    return this.#refused
  }

  /**
   * Asks the provider, and resolves when the first piece of the reply is there.
   *
   * @throws NodekeepError
   */
  async begin(): Promise<void> {
    this.#first = await this.#reply.next()
  }

  next(): Promise<Step> {
    const first = this.#first
    this.#first = undefined
    const isCut = this.#outcome === 'failed' || this.#outcome === 'left'
    return first === undefined || isCut ? this.#reply.next() : Promise.resolve(first)
  }

  async return(): Promise<Step> {
    this.#end('left', new Error('The reader left the reply.'))
    return { done: true, value: undefined }
  }

  /** Ends the call with an error. The reader gets it instead of all that it has not read. */
  fail(error: unknown): void {
    this.#end('failed', error)
  }

  /** Calls the listener when the call is over, or at once if it is. There is one listener. */
  whenOver(listener: (outcome: CallOutcome) => void): void {
    if (this.#outcome === undefined) this.#whenOver = listener
    else listener(this.#outcome)
  }

  async *#read(): AsyncGenerator<ReplyDelta, undefined> {
    const calls = new Set<number>()
    const tags = new ThinkTags()
    let pieces = 0
    let empty = 0
    let begun = false
    let isEmptyText = false
    let hasWorked = false
    try {
      for (;;) {
        const { done, value: delta } = await this.#next(begun, !isEmptyText)
        if (done === true) throw brokeOff(this.#name)
        if (!isWellFormed(delta, calls))
          throw new TypeError('It yielded something that is no piece of a reply.')
        pieces += 1
        if (delta.type === 'finish') {
          this.#end('finished')
          const held = tags.end()
          if (held !== '') yield { type: 'text', text: held }
          if (this.#usage !== null) yield this.#usage
          yield delta
          return
        }
        empty = this.#count(delta) ? 0 : empty + 1
        if (empty > maxEmptyPieces) throw saysNothing(this.#name)
        isEmptyText = delta.type === 'text' && delta.text === ''
        hasWorked ||= !isEmptyText
        if (delta.type === 'tool_call' || delta.type === 'text') {
          const text = delta.type === 'text' ? tags.add(delta.text) : tags.end()
          begun ||= text !== '' || delta.type === 'tool_call'
          if (text !== '') yield { type: 'text', text }
          if (delta.type === 'tool_call') yield delta
        }
        if (pieces % piecesPerTurn === 1) await new Promise((resolve) => setImmediate(resolve))
      }
    } catch (error) {
      if (this.#outcome === 'left') return
      if (this.#outcome !== undefined) throw error
      const reason = providerFailure(this.#name, error)
      const failure = begun ? this.#report(reason) : reason
      this.#refused = !hasWorked && failure.code !== 'UPSTREAM_TIMEOUT'
      this.#end('failed', failure)
      throw failure
    }
  }

  /** @param restarts whether the time limit starts again: an empty text is no sign of progress */
  #next(begun: boolean, restarts: boolean): Promise<IteratorResult<ChatDelta>> {
    const { firstMs, betweenMs } = this.#limits
    const what = begun ? 'stopped in the middle of its reply' : 'did not begin to reply in time'
    return this.#stream.next(begun ? betweenMs : firstMs, () => tooSlow(this.#name, what), restarts)
  }

  /** Counts a piece. Returns whether the model wrote anything in it. */
  #count(delta: Exclude<ChatDelta, { type: 'finish' }>): boolean {
    if (delta.type === 'usage') {
      this.#usage = delta
      return false
    }
    const bytes = bytesOf(delta)
    this.#bytes += bytes
    if (this.#bytes > this.#limits.replyBytes) throw tooLong(this.#name)
    return bytes > 0
  }

  #end(outcome: CallOutcome, reason?: unknown): void {
    if (this.#outcome !== undefined) return
    this.#outcome = outcome
    this.#whenOver?.(outcome)
    if (outcome === 'finished') this.#stream.finish()
    else this.#stream.close(reason)
  }
}

function brokeOff(name: string): NodekeepError {
  return new NodekeepError('UPSTREAM_ERROR', `The AI provider "${name}" broke off its reply.`)
}

function saysNothing(name: string): NodekeepError {
  const message = `The AI provider "${name}" sent ${maxEmptyPieces} events without content.`
  return new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
}

function tooLong(name: string): NodekeepError {
  const message = `The reply of the AI provider "${name}" is too long (ai.maxReplyBytes).`
  return new NodekeepError('UPSTREAM_ERROR', message, { permanent: true })
}

/** The error is permanent because another attempt would take as long. */
function tooSlow(name: string, what: string): NodekeepError {
  return new NodekeepError('UPSTREAM_TIMEOUT', `The AI provider "${name}" ${what}.`, { permanent: true })
}
