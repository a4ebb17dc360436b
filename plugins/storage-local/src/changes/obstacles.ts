import { NodekeepError } from '@nodekeep/plugin-sdk'

/** The error for a folder in the place of a file. */
export function folderThere(): NodekeepError {
  return new NodekeepError('CONFLICT', 'A folder stands where a file is needed.')
}

/** The error for a link or a special file in the place of something that moves. */
export function linkThere(): NodekeepError {
  return new NodekeepError(
    'CONFLICT',
    'What has this name on the disk is neither a file nor a folder. Choose another name.',
  )
}

/** The error for `ifRevision`. */
export function otherRevision(): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    'The file was changed or removed meanwhile. Look at it again.',
  )
}

/** The error for what cannot be done to the root. */
export function rootStays(): NodekeepError {
  return new NodekeepError('CONFLICT', 'The root folder can be neither replaced, moved nor removed.')
}

/** The error for `onlyIfEmpty`. */
export function notEmpty(): NodekeepError {
  return new NodekeepError('CONFLICT', 'This is no folder without anything in it.')
}
