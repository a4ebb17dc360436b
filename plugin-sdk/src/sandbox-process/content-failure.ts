import { isNodekeepError, NodekeepError } from '../errors.ts'

const reasons = ['refused', 'time', 'memory', 'ended'] as const

/**
 * Why a content cannot be decoded. `refused`: the program says so. `time` and `memory`: it reached a limit. `ended`: the process
 * ended, as a decoder that crashes does; the system may have killed it, too.
 */
export type ContentFailureReason = (typeof reasons)[number]

/**
 * A content that cannot be decoded, by its own fault. The same content fails again, so do not try it again: keep its hash with the
 * reason.
 *
 * It is a NodekeepError with the code UNPROCESSABLE. The message is a sentence for people; with `refused`, it is the program's, in at
 * most 200 characters without control characters.
 */
export class ContentFailure extends NodekeepError {
  declare readonly reason: ContentFailureReason

  constructor(reason: ContentFailureReason, message: string, cause?: unknown) {
    super('UNPROCESSABLE', message, { reason, cause, permanent: true })
    this.name = 'ContentFailure'
  }
}

/** Returns whether a value is a ContentFailure of this copy of the SDK or another one. */
export function isContentFailure(value: unknown): value is ContentFailure {
  if (!isNodekeepError(value) || value.name !== 'ContentFailure') return false
  return (reasons as readonly (string | null)[]).includes(value.reason)
}
