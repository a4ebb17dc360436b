import { isNodekeepError, NodekeepError } from '../errors.ts'

/** SQLITE_FULL: the disk is full, or the database has its largest size. https://www.sqlite.org/rescode.html */
const sqliteFull = 13

/** Returns the error of a driver for the caller of the backend. A failure of the system, or a fault, becomes its cause. */
export function driverError(error: unknown): NodekeepError {
  if (isNodekeepError(error)) return error
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown }
  if (code === 'ENOSPC' || code === 'EDQUOT' || errcode === sqliteFull) {
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
