import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'

/** The answer to a file for which the maker of a link has no room, or the node. Guests do not learn how much room there is. */
export function noRoom(cause: unknown): NodekeepError {
  const reason = isNodekeepError(cause) ? cause.reason : null
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'There is no room for this file. Tell the person who made this link.',
    { cause, ...(reason !== null && { reason }) },
  )
}

/** Whether a file was refused because there is no room for it. */
export function lacksRoom(error: unknown): error is NodekeepError {
  return isNodekeepError(error) && error.code === 'INSUFFICIENT_STORAGE'
}

/** Whether it was refused for the quota of the maker, and not for a disk that may have room again in a moment. */
export function isOverQuota(error: unknown): boolean {
  return lacksRoom(error) && error.reason === 'quota-not-exceeded'
}
