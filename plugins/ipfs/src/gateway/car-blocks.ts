import * as dagPb from '@ipld/dag-pb'
import type { CID } from 'multiformats/cid'
import { type ContentRange, fileBlocks, type GetBlock } from '../unixfs/file-blocks.ts'
import { folderBlocks } from '../unixfs/folder-blocks.ts'
import { NotUnixFs, type UnixFsNode, unixFsNode } from '../unixfs/unixfs-node.ts'
import type { CarRepresentation, EntityBytes } from './representation.ts'
import type { ResolvedPath } from './resolve-path.ts'

/** A block of a CAR. */
export interface CarBlock {
  readonly cid: CID
  readonly bytes: Uint8Array
}

type CarBlocks = AsyncGenerator<CarBlock, void, undefined>

/**
 * Yields the blocks of a CAR: those that lead to the target, then those of the target, each before those to which it links. A block is
 * read when it is asked for.
 *
 * @param isWanted is asked about each block before it is yielded. Nothing below an unwanted one is yielded on its account
 */
export async function* carBlocks(
  get: GetBlock,
  { target, way }: Pick<ResolvedPath, 'target' | 'way'>,
  { scope, bytes }: Pick<CarRepresentation, 'scope' | 'bytes'>,
  isWanted: (cid: CID) => boolean,
): CarBlocks {
  for (const cid of way) if (isWanted(cid)) yield { cid, bytes: await get(cid) }
  if (scope === 'all') {
    yield* allBlocks(get, target, isWanted)
    return
  }
  const blocks = scope === 'block' ? oneBlock(get, target) : entityBlocks(get, target, bytes)
  for await (const block of blocks) if (isWanted(block.cid)) yield block
}

async function* oneBlock(get: GetBlock, cid: CID): CarBlocks {
  yield { cid, bytes: await get(cid) }
}

async function* allBlocks(get: GetBlock, root: CID, isWanted: (cid: CID) => boolean): CarBlocks {
  const waiting = [root]
  for (let cid = waiting.pop(); cid !== undefined; cid = waiting.pop()) {
    if (!isWanted(cid)) continue
    const bytes = await get(cid)
    yield { cid, bytes }
    if (cid.code === dagPb.code)
      waiting.push(
        ...dagPb
          .decode(bytes)
          .Links.map(({ Hash }) => Hash)
          .reverse(),
      )
  }
}

/** The blocks of a file, or of the list of a folder. */
async function* entityBlocks(get: GetBlock, cid: CID, bytes: EntityBytes | null): CarBlocks {
  const node = nodeOf(cid, await get(cid))
  if (node?.kind === 'folder' || node?.kind === 'shard') {
    yield* folderBlocks(get, cid)
  } else if (node?.kind !== 'file') {
    yield* oneBlock(get, cid)
  } else if (bytes === null) {
    yield* fileBlocks(get, cid)
  } else {
    const range = contentRange(bytes, node.size)
    yield* range === null ? oneBlock(get, cid) : fileBlocks(get, cid, range)
  }
}

/** Blocks that are no part of files and folders are published too. */
function nodeOf(cid: CID, bytes: Uint8Array): UnixFsNode | null {
  try {
    return unixFsNode(cid, bytes)
  } catch (error) {
    if (error instanceof NotUnixFs) return null
    throw error
  }
}

/** The bytes of a file; `null` if it has none of them. */
function contentRange({ from, to }: EntityBytes, size: number): ContentRange | null {
  const start = from < 0 ? Math.max(0, size + from) : from
  const end = to === null ? size - 1 : to < 0 ? size + to : Math.min(to, size - 1)
  return start > end ? null : { start, end }
}
