import { defineService } from '../service.ts'
import type { ChatRequest, ReplyDelta } from './ai.ts'

/** A request for one provider by its name. */
export interface ChatQuery extends ChatRequest {
  readonly provider: string
}

/** A reply that has begun. */
export interface ChatReply {
  /** Who replies: the provider that was asked, or the one that configuration puts in its place when it fails. */
  readonly provider: string
  readonly model: string
  /**
   * The reply, to be gone through once: well-formed pieces, `finish` last, after at most one `usage`. No more is
   * taken from the provider than the loop asks for. Leaving the loop ends the call at the provider.
   *
   * Throws NodekeepError: UPSTREAM_ERROR when the reply breaks off, is longer than allowed or makes no sense,
   * UPSTREAM_TIMEOUT when it stalls, SERVICE_UNAVAILABLE when the provider's plugin stops, UNAUTHORIZED when a session
   * of the user ends.
   */
  readonly deltas: AsyncIterable<ReplyDelta>
}

/**
 * Chats with the models of all providers, for features that offer them in a form of their own. What holds for
 * `POST /api/ai/chat` holds here: capabilities, time limits, retries, fallbacks, limits and accounting by user.
 */
export interface AiChatService {
  /**
   * Resolves with the first piece of the reply. Its deltas have to be gone through, or begun and left: that ends the
   * chat and accounts for it.
   *
   * @param userUuid whose limits apply, and whose usage it is
   * @param signal ends the chat at any time, with its reason
   * @throws NodekeepError NOT_FOUND for an unknown provider or model (the message lists what there is), also when nobody
   * replies for a provider that is not there,
   * VALIDATION_ERROR for what the provider cannot do, TOO_MANY_REQUESTS with `retry-after` beyond a limit, and what the
   * provider throws after retries and fallbacks
   */
  start(userUuid: string, query: ChatQuery, signal: AbortSignal): Promise<ChatReply>
  /**
   * The names that stand for providers, without asking anybody: those of providers that are there now, and those that
   * configuration has others reply for, also while they are not there.
   */
  providers(): readonly string[]
  /**
   * The models of every provider by its name; none for a provider that does not answer. Never waits longer than the
   * feature's short time limit for lists.
   */
  models(): Promise<Readonly<Record<string, readonly string[]>>>
}

/** The chats of the `ai` feature. */
export const AiChats = defineService<AiChatService>('ai-chats', 1)
