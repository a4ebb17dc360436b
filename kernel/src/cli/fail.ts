import { isNodekeepError } from '@nodekeep/plugin-sdk'
import { ConfigurationError } from '../configuration/error.ts'
import { stackOf, withCauses } from '../errors/thrown.ts'
import { BootFailure } from '../plugins/boot-failure.ts'

/** Says what went wrong, for a person, and has the process end with code 1. */
export function fail(error: unknown, verbose: boolean): void {
  process.exitCode = 1
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`nodekeep: ${message}\n`)
  if (verbose && error instanceof Error) {
    process.stderr.write(`${withCauses(error).map(stackOf).join('\ncaused by ')}\n`)
  } else if (!isForPeople(error)) {
    process.stderr.write('Add --verbose to see where it happened.\n')
  }
}

/** Whether an error says what to do. What the runtime or a library throws by itself has a class or a code of its own. */
function isForPeople(error: unknown): boolean {
  if (error instanceof ConfigurationError || error instanceof BootFailure || isNodekeepError(error))
    return true
  return error instanceof Error && error.name === 'Error' && !('code' in error)
}
