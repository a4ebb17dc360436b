import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'

/** Items of the trash that are read in one turn of the event loop. */
const pageSize = 1000

/** The room that the kept files of a user take on all mounts, in bytes. */
interface KeptBytes {
  readonly trash: number
  readonly versions: number
}

/** Tells how much room the kept files of a user take. All that is not in the trash is a former version. */
export async function keptBytesOf(
  journal: Pick<Journal, 'keptOf'>,
  mounts: Pick<Mounts, 'pointOfStorage'>,
  userUuid: string,
): Promise<KeptBytes> {
  const isMounted = ({ storage }: { readonly storage: string }) => mounts.pointOfStorage(storage) !== null
  const reader = await journal.keptOf(userUuid)
  const all = reader.sums(userUuid).filter(isMounted)
  const kept = all.reduce((sum, { keptBytes }) => sum + keptBytes, 0)
  let trash = 0
  for (let before = Number.MAX_SAFE_INTEGER; kept > 0; await nextTurn()) {
    const items = reader.trashSizes(userUuid, pageSize, before)
    for (const item of items) if (isMounted(item)) trash += item.bytes
    const last = items.at(-1)
    if (last === undefined || items.length < pageSize) break
    before = last.number
  }
  // Something may be deleted between two pages.
  return { trash: Math.min(trash, kept), versions: Math.max(kept - trash, 0) }
}
