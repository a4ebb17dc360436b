import { setTimeout as delay } from 'node:timers/promises'
import type { AiProvider, ChatRequest, Log, NodekeepError } from '@nodekeep/plugin-sdk'
import {
  changed,
  isProvidersFault,
  isRetriable,
  logFailure,
  reasonOf,
  retryAfterSeconds,
} from '../provider-failure.ts'
import type { ModelChoice } from './fallbacks.ts'
import { type CallLimits, ProviderCall } from './provider-call.ts'

/** A model, and the provider to ask for it. */
export interface Candidate extends ModelChoice {
  readonly source: AiProvider
}

interface AttemptOptions {
  readonly policy: RetryPolicy
  readonly limits: CallLimits
  readonly log: Log
  /** Aborts when the chat is over. Its reason is thrown then. */
  readonly signal: AbortSignal
  /** Called before each call, so that ending the chat can end the call. */
  readonly onCall: (call: ProviderCall, candidate: Candidate) => void
}

/**
 * Asks the candidates in their order until a reply begins. A candidate is retried after a failure that may pass.
 * Nothing is retried once a piece of a reply has come.
 *
 * @param asked the requested model, or `null` if its provider is not loaded
 * @param others the fallbacks, each resolved when it is asked: its provider may have been unloaded
 * @returns `null` if the provider is not loaded and there are no fallbacks
 * @throws NodekeepError the failure of the requested model
 */
export async function beginReply(
  asked: Candidate | null,
  others: Iterable<Candidate>,
  request: ChatRequest,
  options: AttemptOptions,
): Promise<ProviderCall | null> {
  if (asked === null) return firstOf(others, request, options)
  try {
    return await ask(asked, request, options)
  } catch (error) {
    options.signal.throwIfAborted()
    if (!isProvidersFault(error as NodekeepError)) throw error
    const reply = await firstOf(others, request, options)
    if (reply !== null) return reply
    throw error
  }
}

async function firstOf(
  candidates: Iterable<Candidate>,
  request: ChatRequest,
  options: AttemptOptions,
): Promise<ProviderCall | null> {
  for (const candidate of candidates) {
    try {
      return await ask(candidate, request, options)
    } catch (error) {
      options.signal.throwIfAborted()
      const { provider, model } = candidate
      const failure = error as NodekeepError
      if (failure.logged) continue
      options.log.warn({ provider, model, code: failure.code, ...reasonOf(failure) }, failure.message)
    }
  }
  return null
}

/** Asks one candidate, with retries. A failure after retries is permanent: the caller need not retry, too. */
async function ask(
  candidate: Candidate,
  request: ChatRequest,
  options: AttemptOptions,
): Promise<ProviderCall> {
  const { policy, limits, log, signal, onCall } = options
  const { provider, model, source } = candidate
  const asked = model === request.model ? request : { ...request, model }
  for (let retry = 0; ; retry += 1) {
    const call = new ProviderCall(provider, source, asked, limits, (failure) =>
      logFailure(failure, candidate, log),
    )
    onCall(call, candidate)
    try {
      await call.begin()
      return call
    } catch (error) {
      signal.throwIfAborted()
      const failure = error as NodekeepError
      const wait = isRetriable(failure) && retry < policy.max ? delayBefore(retry, failure, policy) : null
      if (wait === null) {
        const logged = logFailure(failure, candidate, log)
        throw retry === 0 ? logged : changed(logged, { permanent: true })
      }
      log.info(
        { provider, model, code: failure.code, ...reasonOf(failure) },
        'An AI provider failed. The node retries.',
      )
      await delay(wait, undefined, { signal }).catch(() => {})
      signal.throwIfAborted()
    }
  }
}

export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly max: number
  readonly firstDelayMs: number
  readonly longestDelayMs: number
}

/**
 * Returns how long to wait before a retry, in milliseconds. The wait is random below a limit that doubles, so chats that
 * failed together are not retried together. It is never shorter than the provider's `retry-after`.
 *
 * @param retry counted from 0
 * @returns `null` if `retry-after` is beyond the longest delay
 */
export function delayBefore(retry: number, failure: NodekeepError, policy: RetryPolicy): number | null {
  const { firstDelayMs, longestDelayMs } = policy
  const asked = (retryAfterSeconds(failure) ?? 0) * 1000
  if (asked > longestDelayMs) return null
  return asked + Math.random() * Math.min(longestDelayMs, firstDelayMs * 2 ** retry)
}
