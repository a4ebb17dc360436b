import { constants } from 'node:fs'
import { isNodekeepError, NodekeepError } from '@nodekeep/plugin-sdk'
import type { Store } from './changes/store.ts'
import { storageError } from './disk/disk-errors.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/**
 * Checks that files can be stored now.
 *
 * @throws NodekeepError if the root was removed or replaced, is full up to the reserve, or cannot be written
 */
export async function probe(store: Store, rootPath: string, signal: AbortSignal): Promise<void> {
  const { disk, root, staging, freeSpace } = store
  signal.throwIfAborted()
  checkRoot(store)
  const [there, opened] = [await disk.stat(rootPath), disk.fstatSync(root.fd)]
  if (there.ino !== opened.ino || there.dev !== opened.dev) {
    throw new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The storage folder was replaced while the node was running. Restart the node.',
    )
  }
  const name = staging.freshName('probe')
  disk.closeSync(await disk.open(staging.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
  await disk.unlink(staging.at(name))
  await freeSpace.check(undefined, signal)
}

/**
 * Checks that the root and its staging folder still exist. Without them, every file would seem to be missing, as if its
 * user had removed it.
 *
 * @throws NodekeepError SERVICE_UNAVAILABLE
 */
export function checkRoot({ disk, root, staging }: Store): void {
  for (const { fd } of [root, staging]) {
    if (disk.fstatSync(fd).nlink > 0n) continue
    throw new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The storage folder was removed while the node was running. Put it back, then restart the node.',
    )
  }
}

/** Returns the error for the caller. A file may be missing because the whole root is. */
export function callerError(store: Store, thrown: unknown): unknown {
  const error = storageError(thrown)
  if (!isNodekeepError(error) || error.code !== 'NOT_FOUND') return error
  try {
    checkRoot(store)
    return error
  } catch (unavailable) {
    return storageError(unavailable)
  }
}
