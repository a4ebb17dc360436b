import type { CID } from 'multiformats/cid'
import type { GetBlock } from '../unixfs/file-blocks.ts'
import { findEntry } from '../unixfs/find-entry.ts'

/** Where a path leads. */
export interface ResolvedPath {
  readonly target: CID
  /** The CIDs of the root and of the entry of each name. */
  readonly entries: readonly CID[]
  /** The CIDs of the blocks that lead to the target, without it: of folders, and of nodes of large ones. */
  readonly way: readonly CID[]
}

/**
 * Follows names from a folder. Symbolic links are not followed.
 *
 * @returns `null` if an entry is not there
 * @throws NotUnixFs; errors of `get`
 */
export async function resolvePath(
  get: GetBlock,
  root: CID,
  names: readonly string[],
): Promise<ResolvedPath | null> {
  const entries = [root]
  const way: CID[] = []
  let target = root
  for (const name of names) {
    const found = await findEntry(get, target, name)
    if (found === null) return null
    way.push(target, ...found.slice(0, -1))
    target = found.at(-1) as CID
    entries.push(target)
  }
  return { target, entries, way }
}
