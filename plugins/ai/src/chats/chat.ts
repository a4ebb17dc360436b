import { type ChatRequest, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatUsage, DayUsage } from '../usage/day-usage.ts'
import type { Candidate } from './attempts.ts'
import { ChatCost } from './chat-cost.ts'
import type { ModelChoice } from './fallbacks.ts'
import type { CallOutcome, ProviderCall } from './provider-call.ts'

interface ChatOptions {
  readonly userUuid: string
  readonly request: ChatRequest
  /** The requested model. The chat counts for it unless a fallback replies. */
  readonly asked: ModelChoice
  /** The day on which the chat began, where it counts. */
  readonly day: DayUsage
  /** Longest time for the whole chat, in milliseconds. */
  readonly totalMs: number
  /** Called once, when the chat is over. */
  readonly onOver: (chat: Chat) => void
}

/** A chat from its admission to its end. */
export class Chat {
  readonly #options: ChatOptions
  readonly #abort = new AbortController()
  readonly #limit: NodeJS.Timeout
  readonly #cost: ChatCost
  #call: ProviderCall | null = null
  #candidate: Candidate | null = null
  #ending: ChatUsage['outcome'] | null = null
  #hasReply = false
  #over = false

  constructor(options: ChatOptions) {
    this.#options = options
    this.#cost = new ChatCost(options.request)
    this.#limit = setTimeout(() => {
      this.end(
        new NodekeepError(
          'UPSTREAM_TIMEOUT',
          'The chat took longer than allowed (ai.timeouts.totalSeconds).',
        ),
        'failed',
      )
    }, options.totalMs)
  }

  get userUuid(): string {
    return this.#options.userUuid
  }

  /** The candidate that is asked or replies. */
  get candidate(): Candidate | null {
    return this.#candidate
  }

  /** The model that is asked or replies. */
  get choice(): ModelChoice | null {
    return this.#candidate === null ? null : choiceOf(this.#candidate)
  }

  /** Aborts when the chat is ended from outside. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Tokens up to now, estimated. */
  get tokens(): number {
    return this.#cost.soFar
  }

  /** Notes the next call. */
  nextCall(call: ProviderCall, candidate: Candidate): void {
    this.#cost.nextCall(call)
    this.#call = call
    this.#candidate = candidate
  }

  /** Notes that the reply has begun. From now on, the end of the call is the end of the chat. */
  replyBegan(call: ProviderCall): void {
    this.#hasReply = true
    call.whenOver((outcome) => this.#close(this.#ending ?? outcomeOfCall[outcome]))
  }

  /** Notes that no reply will begin. */
  replyFailed(): void {
    this.#close(this.#ending ?? 'failed')
  }

  /** Ends the chat from outside, at once. Its reader gets the error. */
  end(error: unknown, as: 'failed' | 'aborted'): void {
    if (this.#over || this.#ending !== null) return
    this.#ending = as
    this.#abort.abort(error)
    this.#call?.fail(error)
  }

  #close(outcome: ChatUsage['outcome']): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#limit)
    const { asked, day, onOver } = this.#options
    const { provider, model } = (this.#hasReply ? this.#candidate : null) ?? asked
    day.add({ provider, model, outcome, ...this.#cost.total(outcome === 'finished') })
    onOver(this)
  }
}

const outcomeOfCall: Record<CallOutcome, ChatUsage['outcome']> = {
  finished: 'finished',
  failed: 'failed',
  left: 'aborted',
}

function choiceOf({ provider, model }: ModelChoice): ModelChoice {
  return { provider, model }
}
