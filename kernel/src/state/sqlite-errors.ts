import { NodekeepError } from '@nodekeep/plugin-sdk'
import { resultCodes as codes, resultCode } from '@nodekeep/plugin-sdk/data-folder'

/** Returns the error for the caller of a statement. A full disk and a locked file are temporary, not faults of the code. */
export function statementFailure(cause: unknown): unknown {
  switch (resultCode(cause)) {
    case codes.full:
      return new NodekeepError(
        'INSUFFICIENT_STORAGE',
        "The disk that holds the node's state is full. Free some space and try again.",
        { cause },
      )
    case codes.busy:
      return new NodekeepError(
        'SERVICE_UNAVAILABLE',
        "Another program has locked the node's state. Try again later.",
        { headers: { 'retry-after': '5' }, cause },
      )
    default:
      return cause
  }
}
