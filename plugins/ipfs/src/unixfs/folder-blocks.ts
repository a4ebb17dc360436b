import type { CID } from 'multiformats/cid'
import { type GetBlock, mostLevels } from './file-blocks.ts'
import { type FolderEntry, NotUnixFs, unixFsNode } from './unixfs-node.ts'

/** A block of a folder. */
interface FolderBlock {
  readonly cid: CID
  readonly bytes: Uint8Array
  readonly entries: readonly FolderEntry[]
}

/**
 * Yields the blocks of a folder: one, or the nodes of a large folder, each before those below it. The blocks of its entries are none of
 * them.
 *
 * @throws NotUnixFs; errors of `get`
 */
export async function* folderBlocks(get: GetBlock, root: CID): AsyncGenerator<FolderBlock, void, undefined> {
  const waiting = [{ cid: root, level: 1 }]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { cid, level } = next
    const bytes = await get(cid)
    const node = unixFsNode(cid, bytes)
    const isPart = node.kind === 'shard' || (node.kind === 'folder' && level === 1)
    if (!isPart || level > mostLevels) throw new NotUnixFs(`The block ${cid} is not a part of a folder.`)
    yield { cid, bytes, entries: node.entries }
    if (node.kind === 'folder') return
    waiting.push(...Array.from(node.shards.values(), (below) => ({ cid: below, level: level + 1 })).reverse())
  }
}
