import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Store } from './changes/store.ts'
import { storageError } from './disk/disk-errors.ts'

type Reach = Pick<Store, 'disk' | 'root' | 'side'>

/**
 * Throws when the root or its side folder was removed while the node runs. Nothing would be found there any more, as if
 * all files had been removed by their users.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE
 */
export function checkRoot({ disk, root, side }: Reach): void {
  for (const { fd } of [root, side]) {
    if (disk.fstatSync(fd).nlink > 0n) continue
    throw new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The storage folder was removed while the node ran. Put it back, then start the node again.',
    )
  }
}

/** What to throw to a caller for what was thrown inside: something may be missing because everything is. */
export function errorWithin(reach: Reach, thrown: unknown): unknown {
  const error = storageError(thrown)
  if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') return error
  try {
    checkRoot(reach)
    return error
  } catch (outOfReach) {
    return storageError(outOfReach)
  }
}
