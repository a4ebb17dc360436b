import { importFile, type WritableStorage } from 'ipfs-unixfs-importer'
import type { CID } from 'multiformats/cid'

/**
 * Stores a content as a UnixFS file, of the profile `unixfs-v1-2025`: CIDv1, raw leaves, blocks of 1 MiB, 1,024 links in a block. So other programs find the
 * same CID for the same bytes. One block is in memory, and those that `put` keeps.
 *
 * @param put stores a block, whose bytes stay as they are
 * @throws the errors of the content and of `put`
 */
export async function addFile(
  content: AsyncIterable<Uint8Array>,
  put: (cid: CID, bytes: Uint8Array) => Promise<void>,
): Promise<{
  readonly root: CID
  readonly size: number
  /** Bytes of all blocks, as links to the file name them. */
  readonly blockBytes: bigint
}> {
  let size = 0
  async function* counted() {
    for await (const chunk of content) {
      size += chunk.length
      yield chunk
    }
  }
  const blocks = {
    async put(cid: CID, bytes: Parameters<WritableStorage['put']>[1]) {
      await put(cid, bytes as Uint8Array)
      return cid
    },
  }
  const { cid, size: blockBytes } = await importFile({ content: counted() }, blocks, {
    profile: 'unixfs-v1-2025',
    // The importer would wait for all blocks of a batch before it puts the first one, and hold them while the writer is slow.
    blockWriteConcurrency: 1,
  })
  return { root: cid, size, blockBytes }
}
