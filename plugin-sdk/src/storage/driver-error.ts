import { isDiskFull } from '../data-folder/disk-failures.ts'
import { isNodekeepError, NodekeepError } from '../errors.ts'

/** Returns the error of a driver for the caller of the backend. A failure of the system, or a fault, becomes its cause. */
export function driverError(error: unknown): NodekeepError {
  if (isNodekeepError(error)) return error
  if (isDiskFull(error)) {
    return new NodekeepError(
      'INSUFFICIENT_STORAGE',
      'The storage is full. Remove files, or give it more space.',
      { cause: error },
    )
  }
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The storage does not work now. Try again later.', {
    cause: error,
  })
}

/** Carries an error that the caller has caused, such as that of its content. The caller gets it unchanged. */
export class CallerError {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}
