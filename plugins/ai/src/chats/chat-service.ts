import {
  type AiChatService,
  type AiProvider,
  type ChatQuery,
  type ChatReply,
  type ChatRequest,
  isNodekeepError,
  type Log,
  NodekeepError,
  type RegistryReader,
} from '@nodekeep/plugin-sdk'
import type { ChatLimits } from '../limits/chat-limits.ts'
import type { ModelLists } from '../models/model-lists.ts'
import type { UsageLedger } from '../usage/usage-ledger.ts'
import { beginReply, type Candidate } from './attempts.ts'
import type { RetryPolicy } from './backoff.ts'
import { lackingCapability, refuseAddresses } from './capabilities.ts'
import { Chat } from './chat.ts'
import type { Fallbacks, ModelChoice } from './fallbacks.ts'
import { noSuchModel, noSuchProvider } from './not-found.ts'
import type { CallLimits } from './provider-call.ts'
import type { RunningChats } from './running-chats.ts'

export interface ChatServiceParts {
  readonly providers: RegistryReader<AiProvider>
  readonly models: ModelLists
  readonly running: RunningChats
  readonly limits: ChatLimits
  readonly ledger: UsageLedger
  readonly fallbacks: Fallbacks
  readonly policy: RetryPolicy
  readonly callLimits: CallLimits
  /** Longest time for a whole chat. */
  readonly totalMs: number
  readonly log: Log
}

/** What the routes use, and other plugins get as `AiChats`. */
export class ChatService implements AiChatService {
  readonly #parts: ChatServiceParts

  constructor(parts: ChatServiceParts) {
    this.#parts = parts
  }

  async start(userUuid: string, query: ChatQuery, signal: AbortSignal): Promise<ChatReply> {
    const { provider, ...request } = query
    const asked = { provider, model: request.model }
    const candidates = this.#candidates(asked, request)
    const chat = await this.#admit(userUuid, asked, request, signal)
    try {
      const { policy, callLimits, log, running } = this.#parts
      const call = await beginReply(candidates, request, {
        policy,
        log,
        limits: callLimits,
        signal: chat.signal,
        onCall(call, candidate) {
          chat.calls(call, candidate)
          running.endIfOrphaned(chat)
        },
      })
      chat.begun(call)
      return { ...(chat.choice ?? asked), deltas: { [Symbol.asyncIterator]: () => call } }
    } catch (error) {
      chat.failed()
      throw isNodekeepError(error) && error.code === 'NOT_FOUND'
        ? await this.#unknownModel(candidates[0], error)
        : error
    }
  }

  providers(): readonly string[] {
    return this.#parts.providers.names()
  }

  models(): Promise<Readonly<Record<string, readonly string[]>>> {
    return this.#parts.models.all()
  }

  /**
   * Who may reply: the provider that was asked for, and those that take its place and can do what is asked. They do so
   * also while its plugin is not loaded.
   */
  #candidates(asked: ModelChoice, request: ChatRequest): [Candidate, ...Candidate[]] {
    refuseAddresses(request)
    const { providers } = this.#parts
    const source = providers.get(asked.provider)
    const others = this.#fallbacks(asked, request)
    if (source === undefined) {
      const [first, ...rest] = others
      if (first === undefined) throw noSuchProvider(asked.provider, providers.names())
      return [first, ...rest]
    }
    const lacking = lackingCapability(request, source.supports)
    if (lacking !== null) {
      throw new NodekeepError(
        'VALIDATION_ERROR',
        `The AI provider "${asked.provider}" does not support ${lacking}.`,
      )
    }
    return [{ ...asked, source }, ...others]
  }

  #fallbacks(asked: ModelChoice, request: ChatRequest): Candidate[] {
    const { providers, fallbacks } = this.#parts
    return fallbacks.of(asked).flatMap((choice) => {
      const source = providers.get(choice.provider)
      return source !== undefined && lackingCapability(request, source.supports) === null
        ? [{ ...choice, source }]
        : []
    })
  }

  /** Lets a chat begin within the limits, and sees to what is to be done at its end. */
  async #admit(
    userUuid: string,
    asked: ModelChoice,
    request: ChatRequest,
    signal: AbortSignal,
  ): Promise<Chat> {
    const { ledger, limits, running, totalMs } = this.#parts
    const day = await ledger.open(userUuid)
    try {
      signal.throwIfAborted()
      running.refuseAfterEnd()
      const leave = limits.admit(userUuid, () => day.tokens + running.tokensOf(userUuid))
      const giveUp = () => chat.end(signal.reason, 'aborted')
      const chat: Chat = new Chat({
        userUuid,
        request,
        asked,
        day,
        totalMs,
        onOver() {
          signal.removeEventListener('abort', giveUp)
          running.delete(chat)
          leave()
          ledger.close(day)
        },
      })
      signal.addEventListener('abort', giveUp)
      running.add(chat)
      return chat
    } catch (error) {
      ledger.close(day)
      throw error
    }
  }

  async #unknownModel({ provider, model }: ModelChoice, cause: unknown): Promise<NodekeepError> {
    return noSuchModel(provider, model, await this.#parts.models.ofAnswering(provider), cause)
  }
}
