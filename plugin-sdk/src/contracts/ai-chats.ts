import { defineService } from '../service.ts'
import type { ChatRequest, ReplyDelta } from './ai.ts'

/** A request for one provider by its name. */
export interface ChatQuery extends ChatRequest {
  readonly provider: string
}

/** A reply that has begun. */
export interface ChatReply {
  /** The provider that replies: the requested one, or a configured fallback. */
  readonly provider: string
  readonly model: string
  /**
   * The reply, which can be read once: well-formed pieces, then at most one `usage`, then `finish`. No more is taken
   * from the provider than the loop requests. Leaving the loop ends the call at the provider.
   *
   * Throws NodekeepError: UPSTREAM_ERROR when the reply is cut short, too long or malformed,
   * UPSTREAM_TIMEOUT when it stalls, SERVICE_UNAVAILABLE when the provider's plugin stops, UNAUTHORIZED when a session
   * of the user ends.
   */
  readonly deltas: AsyncIterable<ReplyDelta>
}

/**
 * Chats with the models of all providers, for features with an interface of their own. Capabilities, time limits, retries,
 * fallbacks, limits and accounting are the same as for `POST /api/ai/chat`.
 */
export interface AiChatService {
  /**
   * Resolves with the first piece of the reply. The caller must read the deltas, or begin to read and leave the loop: that
   * ends the chat and counts its usage.
   *
   * @param userUuid the user whose limits apply and whose usage is counted
   * @param signal ends the chat at any time, with its reason
   * @throws NodekeepError NOT_FOUND for an unknown provider or model (the message lists the known ones), VALIDATION_ERROR
   * for a request that the provider does not support, TOO_MANY_REQUESTS with `retry-after` beyond a limit, and the error of
   * the provider after retries and fallbacks
   */
  start(userUuid: string, query: ChatQuery, signal: AbortSignal): Promise<ChatReply>
  /**
   * Lists the names of the loaded providers, and of the providers with fallbacks, even if they are not loaded. It sends no
   * request.
   */
  providers(): readonly string[]
  /**
   * Lists the models of every provider, by its name. The list is empty if the provider does not answer within the
   * feature's short time limit.
   */
  models(): Promise<Readonly<Record<string, readonly string[]>>>
}

/** The chats of the `ai` feature. */
export const AiChats = defineService<AiChatService>('ai-chats', 1)
