import { isNodekeepError, NodekeepError } from '../errors.ts'

/** Returns the error of a driver for the caller of the backend. A failure of the system, or a fault, becomes its cause. */
export function driverError(error: unknown): NodekeepError {
  if (isNodekeepError(error)) return error
  return new NodekeepError('SERVICE_UNAVAILABLE', 'The storage does not work now. Try again later.', {
    cause: error,
  })
}

/** Carries an error that reaches the caller unchanged. */
export class Passed {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}
