import { setTimeout as delay } from 'node:timers/promises'
import type { AiProvider, ChatRequest, Log, NodekeepError } from '@nodekeep/plugin-sdk'
import type { ModelChoice } from './fallbacks.ts'
import { type CallLimits, ProviderCall } from './provider-call.ts'
import { isProvidersFault, isRetriable, logLasting, retryAfterSeconds } from './provider-failure.ts'

/** A model, and who is to be asked for it. */
export interface Candidate extends ModelChoice {
  readonly source: AiProvider
}

export interface AttemptParts {
  readonly policy: RetryPolicy
  readonly limits: CallLimits
  readonly log: Log
  /** Aborted when the chat is over; then its reason is thrown. */
  readonly signal: AbortSignal
  /** Told of each call before it is made, so that whoever ends the chat can end the call. */
  readonly onCall: (call: ProviderCall, candidate: Candidate) => void
}

/**
 * Asks for a reply until one begins: each candidate in turn, each again after a failure that may pass. Nothing is
 * tried again once a piece of a reply has come.
 *
 * @param asked what was asked for, `null` when nobody has it
 * @param others what may take its place, looked up when it is needed: by then a provider may have gone
 * @returns `null` when nobody has what was asked for, and nothing takes its place
 * @throws NodekeepError that of what was asked for
 */
export async function beginReply(
  asked: Candidate | null,
  others: Iterable<Candidate>,
  request: ChatRequest,
  parts: AttemptParts,
): Promise<ProviderCall | null> {
  if (asked === null) return firstOf(others, request, parts)
  try {
    return await ask(asked, request, parts)
  } catch (error) {
    parts.signal.throwIfAborted()
    if (!isProvidersFault(error as NodekeepError)) throw error
    const reply = await firstOf(others, request, parts)
    if (reply !== null) return reply
    throw error
  }
}

async function firstOf(
  candidates: Iterable<Candidate>,
  request: ChatRequest,
  parts: AttemptParts,
): Promise<ProviderCall | null> {
  for (const candidate of candidates) {
    try {
      return await ask(candidate, request, parts)
    } catch (error) {
      parts.signal.throwIfAborted()
      const { provider, model } = candidate
      if ((error as NodekeepError).logged) continue
      parts.log.warn({ provider, model, err: error }, 'A fallback model failed, too.')
    }
  }
  return null
}

/** Asks one candidate, as often as the policy says. */
async function ask(candidate: Candidate, request: ChatRequest, parts: AttemptParts): Promise<ProviderCall> {
  const { policy, limits, log, signal, onCall } = parts
  const { provider, model, source } = candidate
  const asked = model === request.model ? request : { ...request, model }
  for (let retry = 0; ; retry += 1) {
    const call = new ProviderCall(provider, source, asked, limits)
    onCall(call, candidate)
    try {
      await call.begin()
      return call
    } catch (error) {
      signal.throwIfAborted()
      const failure = error as NodekeepError
      const wait = isRetriable(failure) && retry < policy.max ? delayBefore(retry, failure, policy) : null
      if (wait === null) throw logLasting(failure, candidate, log)
      log.info(
        { provider, model, code: failure.code, err: failure.cause },
        'An AI provider failed and is asked again.',
      )
      await delay(wait, undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
    }
  }
}

export interface RetryPolicy {
  /** How often to ask again. */
  readonly max: number
  readonly firstDelayMs: number
  readonly longestDelayMs: number
}

/**
 * How long to wait before a retry, in milliseconds: a random time, so that those who failed together don't come back
 * together, up to a limit that doubles; and no less than the provider asks for.
 *
 * @param retry counted from 0
 * @returns `null` when the provider asks for more than anybody should wait
 */
export function delayBefore(retry: number, failure: NodekeepError, policy: RetryPolicy): number | null {
  const { firstDelayMs, longestDelayMs } = policy
  const asked = (retryAfterSeconds(failure) ?? 0) * 1000
  if (asked > longestDelayMs) return null
  return asked + Math.random() * Math.min(longestDelayMs, firstDelayMs * 2 ** retry)
}
