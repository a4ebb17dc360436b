import { NodekeepError } from '@nodekeep/plugin-sdk'

/**
 * The answer to every link that does not work: unknown, ended, too old, or with its entry gone. Nobody learns which of these it is, and the node logs no
 * path.
 */
export function noSuchLink(): NodekeepError {
  return new NodekeepError(
    'NOT_FOUND',
    'This link does not work. It may have ended. Ask the person who sent it to you for a new one.',
  )
}

/** The answer to every path in a link at which guests find nothing, for whatever reason. */
export function nothingThere(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'There is nothing at this address in the link.')
}
