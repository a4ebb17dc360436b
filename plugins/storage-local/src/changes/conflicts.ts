import { NodekeepError } from '@nodekeep/plugin-sdk'

/** A file is written where a folder is. */
export function folderInTheWay(): NodekeepError {
  return new NodekeepError('CONFLICT', 'A folder has this name. Choose another name for the file.')
}

/** A file or folder is moved to where a link or a special file is. */
export function linkInTheWay(): NodekeepError {
  return new NodekeepError(
    'CONFLICT',
    'An entry on the disk that is neither a file nor a folder has this name. Choose another name.',
  )
}

/** `ifRevision` is not met. */
export function otherRevision(): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    'The file was changed or removed meanwhile. Read it again, then repeat the change.',
  )
}

/** `ifAbsent` is not met. */
export function alreadyExists(): NodekeepError {
  return new NodekeepError(
    'PRECONDITION_FAILED',
    'A file or folder exists at this path. Choose another path.',
  )
}

/** `onlyIfEmpty` is not met. */
export function notEmpty(): NodekeepError {
  return new NodekeepError('CONFLICT', 'This is not an empty folder. Remove its content first.')
}
