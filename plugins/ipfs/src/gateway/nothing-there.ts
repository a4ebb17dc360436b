import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Returns the error for everything that is not published. */
export function nothingThere(): NodekeepError {
  return new NodekeepError('NOT_FOUND', 'Nothing is published under this address.')
}
