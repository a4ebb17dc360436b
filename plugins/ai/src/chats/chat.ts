import { type ChatRequest, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ChatUsage, DayUsage } from '../usage/day-usage.ts'
import type { Candidate } from './attempts.ts'
import { ChatCost } from './chat-cost.ts'
import type { ModelChoice } from './fallbacks.ts'
import type { CallOutcome, ProviderCall } from './provider-call.ts'

export interface ChatParts {
  readonly userUuid: string
  readonly request: ChatRequest
  /** What was asked for. It is what is counted while nobody replies. */
  readonly asked: ModelChoice
  /** Where the chat is counted: the day on which it began. */
  readonly day: DayUsage
  /** Longest time for all of it. */
  readonly totalMs: number
  /** Called once, when the chat is over. */
  readonly onOver: (chat: Chat) => void
}

/** A chat from its admission to its end, however it ends. */
export class Chat {
  readonly #parts: ChatParts
  readonly #abort = new AbortController()
  readonly #limit: NodeJS.Timeout
  readonly #cost: ChatCost
  #call: ProviderCall | null = null
  #candidate: Candidate | null = null
  #ending: ChatUsage['outcome'] | null = null
  #replies = false
  #over = false

  constructor(parts: ChatParts) {
    this.#parts = parts
    this.#cost = new ChatCost(parts.request)
    this.#limit = setTimeout(() => {
      this.end(
        new NodekeepError(
          'UPSTREAM_TIMEOUT',
          'The chat took longer than allowed (ai.timeouts.totalSeconds).',
        ),
        'failed',
      )
    }, parts.totalMs)
  }

  get userUuid(): string {
    return this.#parts.userUuid
  }

  /** Who is asked, or replies. */
  get candidate(): Candidate | null {
    return this.#candidate
  }

  /** The model that is asked, or replies. */
  get choice(): ModelChoice | null {
    return this.#candidate === null ? null : choiceOf(this.#candidate)
  }

  /** Aborted when the chat is ended from outside. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Tokens so far, estimated. */
  get tokens(): number {
    return this.#cost.soFar
  }

  /** Notes the call that is about to be made. */
  calls(call: ProviderCall, candidate: Candidate): void {
    this.#cost.calls(call)
    this.#call = call
    this.#candidate = candidate
  }

  /** Notes that the reply has begun; from now on the call's end is the chat's. */
  begun(call: ProviderCall): void {
    this.#replies = true
    call.whenOver((outcome) => this.#settle(this.#ending ?? ofCall[outcome]))
  }

  /** Notes that no reply will begin. */
  failed(): void {
    this.#settle(this.#ending ?? 'failed')
  }

  /** Ends the chat from outside, at once: whoever waits for a piece gets the error. */
  end(error: unknown, as: 'failed' | 'aborted'): void {
    if (this.#over || this.#ending !== null) return
    this.#ending = as
    this.#abort.abort(error)
    this.#call?.fail(error)
  }

  #settle(outcome: ChatUsage['outcome']): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#limit)
    const { asked, day, onOver } = this.#parts
    const { provider, model } = (this.#replies ? this.#candidate : null) ?? asked
    day.add({ provider, model, outcome, ...this.#cost.total(outcome === 'finished') })
    onOver(this)
  }
}

const ofCall: Record<CallOutcome, ChatUsage['outcome']> = {
  finished: 'finished',
  failed: 'failed',
  left: 'aborted',
}

function choiceOf({ provider, model }: ModelChoice): ModelChoice {
  return { provider, model }
}
