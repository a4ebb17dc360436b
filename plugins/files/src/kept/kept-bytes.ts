import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Journal } from '../journal/journal.ts'
import type { Mounts } from '../mounts/mounts.ts'

/** Items of the trash that are read in one turn of the event loop. It takes some milliseconds. */
const pageSize = 2000

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
  const reader = await journal.keptOf(userUuid)
  const mounted = reader.sums(userUuid).filter(({ storage }) => mounts.pointOfStorage(storage) !== null)
  const kept = mounted.reduce((sum, { keptBytes }) => sum + keptBytes, 0)
  const roots = new Set(mounted.map(({ keptRoot }) => keptRoot))
  let trash = 0
  for (let before = Number.MAX_SAFE_INTEGER; kept > 0; await nextTurn()) {
    const page = reader.trashBytes(userUuid, pageSize, before)
    for (const { root, bytes } of page) if (roots.has(root)) trash += bytes
    if (page.reduce((sum, { items }) => sum + items, 0) < pageSize) break
    before = Math.min(...page.map(({ last }) => last))
  }
  // Something may be deleted between two pages.
  return { trash: Math.min(trash, kept), versions: Math.max(kept - trash, 0) }
}
