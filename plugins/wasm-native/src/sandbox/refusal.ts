import type { Failure } from '../protocol/messages.ts'

/** A failure that the caller is told. */
export class Refusal extends Error implements Failure {
  readonly code: Failure['code']

  constructor(code: Failure['code'], message: string) {
    super(message)
    this.code = code
  }
}
