import { NodekeepError } from '@nodekeep/plugin-sdk'

/** Returns the error for a CAR that is too large. */
export function tooManyBytes(maxBytes: number): NodekeepError {
  return new NodekeepError('PAYLOAD_TOO_LARGE', `A CAR may have at most ${maxBytes} bytes.`)
}
