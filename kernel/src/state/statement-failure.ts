import { NodekeepError } from '@nodekeep/plugin-sdk'
import { busy, FULL, sqliteCode } from './open-failure.ts'

/** The error for who asked: a full disk and a locked file are no faults of the program, and go by. */
export function statementFailure(cause: unknown): unknown {
  switch (sqliteCode(cause)) {
    case FULL:
      return new NodekeepError(
        'INSUFFICIENT_STORAGE',
        "The disk that holds the node's state is full. Free some space and try again.",
        { cause },
      )
    case busy:
      return new NodekeepError(
        'SERVICE_UNAVAILABLE',
        "Another program holds the node's state. Try again later.",
        { headers: { 'retry-after': '5' }, cause },
      )
    default:
      return cause
  }
}
