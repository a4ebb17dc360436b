import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'

/** The answer to a file for which the maker of a link has no room, or the node. Guests do not learn how much room there is. */
export function noRoom(cause: unknown): NodekeepError {
  return new NodekeepError(
    'INSUFFICIENT_STORAGE',
    'There is no room for this file. Tell the person who made this link.',
    { cause },
  )
}

/** Whether a file was refused because there is no room for it. */
export function lacksRoom(error: unknown): boolean {
  return isNodekeepError(error) && error.code === 'INSUFFICIENT_STORAGE'
}
