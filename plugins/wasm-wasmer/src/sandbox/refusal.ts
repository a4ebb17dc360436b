import type { FailureCode } from '../protocol/messages.ts'

/** Ends a run with a failure that its caller is told. */
export class Refusal extends Error {
  readonly code: FailureCode

  constructor(code: FailureCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Ends a run for want of memory: the node knows what the limit is. */
export class OutOfMemory extends Error {}
