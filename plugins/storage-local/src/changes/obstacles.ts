import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Found } from '../folders/folder.ts'

/** The error for a path at which something stands that can't be used or replaced. */
export function otherThere({ stats }: Found): NodekeepError {
  const message = stats.isDirectory()
    ? 'A folder stands where a file is needed.'
    : 'What has this name on the disk is neither a file nor a folder. Only who runs the node can remove it.'
  return new NodekeepError('CONFLICT', message)
}

/** The error for `ifRevision`. */
export function otherRevision(): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    'The file was changed or removed meanwhile. Look at it again.',
  )
}

/** The error for what can't be done to the root. */
export function rootStays(): NodekeepError {
  return new NodekeepError('CONFLICT', 'The root folder can be neither replaced, moved nor removed.')
}
