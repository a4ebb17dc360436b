import { NodekeepError, type WasmPreopen } from '@nodekeep/plugin-sdk'

/** What Wasmer has in a program's world itself. */
const taken = ['/', '/bin', '/dev', '/usr', '/etc', '/.app', '/.private']

/**
 * Checks that a folder can be where it is to be.
 *
 * @throws NodekeepError VALIDATION_ERROR
 */
export function mountable({ guestPath }: WasmPreopen): void {
  if (!taken.includes(guestPath)) return
  throw new NodekeepError(
    'VALIDATION_ERROR',
    `A program cannot have a folder of yours at "${guestPath}". Give it another place with "as", such as "/data".`,
  )
}
