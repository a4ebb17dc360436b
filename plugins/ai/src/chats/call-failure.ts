import { NodekeepError } from '@nodekeep/plugin-sdk'

/** For a reply without `finish`. */
export function brokeOff(provider: string): NodekeepError {
  return new NodekeepError('UPSTREAM_ERROR', `The AI provider "${provider}" broke off its reply.`)
}

export function tooLong(provider: string): NodekeepError {
  return new NodekeepError(
    'UPSTREAM_ERROR',
    `The reply of the AI provider "${provider}" is too long (ai.maxReplyBytes).`,
    { permanent: true },
  )
}

/** Permanent, since asking again would take as long. */
export function tooSlow(provider: string, what: string): NodekeepError {
  return new NodekeepError('UPSTREAM_TIMEOUT', `The AI provider "${provider}" ${what}.`, { permanent: true })
}
