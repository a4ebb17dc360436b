import { constants } from 'node:fs'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Store } from './changes/store.ts'
import { checkRoot } from './reach.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0 } = constants

/** Throws when files cannot be stored now: the root was replaced, is as full as it may get, or cannot be written. */
export async function probe(
  { disk, root, side, room }: Store,
  rootPath: string,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted()
  checkRoot({ disk, root, side })
  const [there, opened] = [await disk.stat(rootPath), disk.fstatSync(root.fd)]
  if (there.ino !== opened.ino || there.dev !== opened.dev) {
    throw new NodekeepError(
      'SERVICE_UNAVAILABLE',
      'The storage folder was replaced while the node ran. Start it again.',
    )
  }
  const name = side.freshName('probe')
  disk.closeSync(await disk.open(side.at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600))
  await disk.unlink(side.at(name))
  await room.check(undefined, [signal])
}
