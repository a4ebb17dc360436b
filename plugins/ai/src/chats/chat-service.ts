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
import type { ModelLists } from '../model-lists.ts'
import type { UsageLedger } from '../usage/usage-ledger.ts'
import { beginReply, type Candidate, type RetryPolicy } from './attempts.ts'
import { lackingCapability, refuseAddresses } from './capabilities.ts'
import { Chat } from './chat.ts'
import type { ChatLimits } from './chat-limits.ts'
import type { Fallbacks, ModelChoice } from './fallbacks.ts'
import type { CallLimits } from './provider-call.ts'
import type { RunningChats } from './running-chats.ts'

interface ChatServices {
  readonly providers: RegistryReader<AiProvider>
  readonly models: ModelLists
  readonly running: RunningChats
  readonly limits: ChatLimits
  readonly ledger: UsageLedger
  readonly fallbacks: Fallbacks
  readonly policy: RetryPolicy
  readonly callLimits: CallLimits
  /** Longest time for a whole chat, in milliseconds. */
  readonly totalMs: number
  readonly log: Log
}

/** Chats with the models of all providers. The routes use it, and other plugins get it as `AiChats`. */
export class ChatService implements AiChatService {
  readonly #services: ChatServices

  constructor(services: ChatServices) {
    this.#services = services
  }

  async start(userUuid: string, query: ChatQuery, signal: AbortSignal): Promise<ChatReply> {
    const { provider, ...request } = query
    const asked = { provider, model: request.model }
    const candidate = this.#asked(asked, request)
    const chat = await this.#admit(userUuid, asked, request, signal)
    try {
      const { policy, callLimits, log, running } = this.#services
      const call = await beginReply(candidate, this.#fallbacks(asked, request), request, {
        policy,
        log,
        limits: callLimits,
        signal: chat.signal,
        onCall(call, candidate) {
          chat.nextCall(call, candidate)
          running.endIfOrphaned(chat)
        },
      })
      if (call === null) throw this.#unknownProvider(asked)
      chat.replyBegan(call)
      return { ...(chat.choice ?? asked), deltas: { [Symbol.asyncIterator]: () => call } }
    } catch (error) {
      chat.replyFailed()
      throw candidate !== null && isNodekeepError(error) && error.code === 'NOT_FOUND'
        ? await this.#unknownModel(asked, error)
        : error
    }
  }

  providers(): readonly string[] {
    const { providers, fallbacks } = this.#services
    return [...new Set([...providers.names(), ...fallbacks.providers])]
  }

  models(): Promise<Readonly<Record<string, readonly string[]>>> {
    return this.#services.models.all()
  }

  /**
   * Returns the requested model, or `null` if its provider is not loaded but has fallbacks.
   *
   * @throws NodekeepError NOT_FOUND, VALIDATION_ERROR
   */
  #asked(asked: ModelChoice, request: ChatRequest): Candidate | null {
    refuseAddresses(request)
    const source = this.#services.providers.get(asked.provider)
    if (source === undefined) {
      if (this.#fallbacks(asked, request).next().done === true) throw this.#unknownProvider(asked)
      return null
    }
    const lacking = lackingCapability(request, source)
    if (lacking !== null) {
      throw new NodekeepError(
        'VALIDATION_ERROR',
        `The AI provider "${asked.provider}" does not support ${lacking}.`,
      )
    }
    return { ...asked, source }
  }

  /** Yields the fallbacks that are loaded and have the capabilities that the request needs. */
  *#fallbacks(asked: ModelChoice, request: ChatRequest): Generator<Candidate> {
    const { providers, fallbacks } = this.#services
    for (const choice of fallbacks.of(asked)) {
      const source = providers.get(choice.provider)
      if (source !== undefined && lackingCapability(request, source) === null) {
        yield { ...choice, source }
      }
    }
  }

  /** Admits a chat within the limits, and releases everything at its end. */
  async #admit(
    userUuid: string,
    asked: ModelChoice,
    request: ChatRequest,
    signal: AbortSignal,
  ): Promise<Chat> {
    const { ledger, limits, running, totalMs } = this.#services
    const day = await ledger.open(userUuid)
    try {
      signal.throwIfAborted()
      running.refuseAfterEnd()
      const release = limits.admit(userUuid, () => day.tokens + running.tokensOf(userUuid))
      const abort = () => chat.end(signal.reason, 'aborted')
      const chat: Chat = new Chat({
        userUuid,
        request,
        asked,
        day,
        totalMs,
        onOver() {
          signal.removeEventListener('abort', abort)
          running.delete(chat)
          release()
          ledger.close(day)
        },
      })
      signal.addEventListener('abort', abort)
      running.add(chat)
      return chat
    } catch (error) {
      ledger.close(day)
      throw error
    }
  }

  #unknownProvider({ provider }: ModelChoice): NodekeepError {
    return noSuchProvider(provider, this.#services.providers.names())
  }

  async #unknownModel({ provider, model }: ModelChoice, cause: unknown): Promise<NodekeepError> {
    return noSuchModel(provider, model, await this.#services.models.ofAnswering(provider), cause)
  }
}

/** Names in the list of a message. */
const maxListed = 50

/** @param providers names of the loaded providers */
function noSuchProvider(name: string, providers: readonly string[]): NodekeepError {
  const rest =
    providers.length === 0 ? 'No AI provider is loaded.' : `These are loaded: ${listed(providers)}.`
  const message = `There is no AI provider "${name}". ${rest}`
  return new NodekeepError('NOT_FOUND', message, { reason: 'model_not_found' })
}

/** @param models the models that the provider lists */
function noSuchModel(
  provider: string,
  model: string,
  models: readonly string[],
  cause: unknown,
): NodekeepError {
  const rest = models.length === 0 ? 'Its models are not known now.' : `It has: ${listed(models)}.`
  return new NodekeepError(
    'NOT_FOUND',
    `The AI provider "${provider}" does not have the model "${model}". ${rest}`,
    {
      cause,
      permanent: true,
      reason: 'model_not_found',
    },
  )
}

function listed(names: readonly string[]): string {
  const more = names.length - maxListed
  return `${names.slice(0, maxListed).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
