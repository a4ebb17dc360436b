import { NodekeepError } from '@nodekeep/plugin-sdk'
import { longestPath, type UserPath } from '../paths/user-path.ts'
import type { Scope } from './scope.ts'
import { walk } from './walk.ts'

/**
 * Makes sure that a folder that moves takes along nothing whose path would be too long, so that it could not be asked
 * for any more. The folder itself is looked through only when the journal cannot say so.
 *
 * @returns bytes that no path of the user exceeds afterwards; undefined when there is nothing to say
 * @throws NodekeepError VALIDATION_ERROR
 */
export async function longestAfterMove(
  scope: Scope,
  source: UserPath,
  destination: UserPath,
): Promise<number | undefined> {
  const lengthened = Buffer.byteLength(destination) - Buffer.byteLength(source)
  if (lengthened <= 0) return undefined
  const longest = (await scope.journal.longestOf(scope.userUuid)) + lengthened
  if (longest <= longestPath) return longest
  for await (const [path] of walk(scope, source)) {
    if (Buffer.byteLength(path) + lengthened > longestPath) throw tooLongThere(source, destination)
  }
  return longestPath
}

export function tooLongThere(source: UserPath, destination: UserPath): NodekeepError {
  return new NodekeepError(
    'VALIDATION_ERROR',
    `Something in "${source}" would have a path of more than ${longestPath} bytes in "${destination}". Choose a ` +
      'shorter destination.',
  )
}
