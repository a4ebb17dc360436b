import { type ErrorCode, NodekeepError } from '@nodekeep/plugin-sdk'

/** A file of the repository that could not be read. Its message is a predicate of the source: "cannot be reached (ECONNREFUSED)". */
export class TransferFailure extends Error {
  override readonly name = 'TransferFailure'
  readonly code: Extract<ErrorCode, 'UPSTREAM_ERROR' | 'UPSTREAM_TIMEOUT'>
  /** Whether the source answers, and does not have the file. */
  readonly isMissing: boolean

  constructor(
    message: string,
    {
      code = 'UPSTREAM_ERROR',
      isMissing = false,
      cause,
    }: Partial<Pick<TransferFailure, 'code' | 'isMissing' | 'cause'>> = {},
  ) {
    super(message, { cause })
    this.code = code
    this.isMissing = isMissing
  }
}

/** Returns the error of a source that could not be read. */
export function transferProblem(failure: TransferFailure): NodekeepError {
  const remedy = 'Check update-tuf.url, or try again later.'
  return new NodekeepError(failure.code, `The source of updates ${failure.message}. ${remedy}`, {
    cause: failure,
  })
}
