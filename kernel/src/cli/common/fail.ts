import { isNodekeepError, messageOf } from '@nodekeep/plugin-sdk'
import { ConfigurationError } from '../../configuration/error.ts'
import { stackOf, withCauses } from '../../errors/error-text.ts'
import { BootFailure } from '../../plugins/boot-failure.ts'
import type { CommandProcess } from './command-process.ts'

/** Prints an error for a person, and makes the process end with code 1. */
export function fail(error: unknown, verbose: boolean, process: CommandProcess = globalThis.process): void {
  process.exitCode = 1
  process.stderr.write(`nodekeep: ${messageOf(error)}\n`)
  if (verbose && error instanceof Error) {
    process.stderr.write(`${withCauses(error).map(stackOf).join('\ncaused by ')}\n`)
  } else if (!isForPeople(error)) {
    process.stderr.write('Add --verbose to see the stack trace.\n')
  }
}

/** Tells whether an error was written for a person. Errors of the runtime and of libraries have their own class or a code. */
function isForPeople(error: unknown): boolean {
  if (error instanceof ConfigurationError || error instanceof BootFailure || isNodekeepError(error))
    return true
  return error instanceof Error && error.name === 'Error' && !('code' in error)
}
