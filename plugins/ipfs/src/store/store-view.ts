import type { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { isBlockOf } from './block-hash.ts'
import type { BlockPlace } from './block-index.ts'
import { keyOf } from './links.ts'
import type { PackFiles } from './pack-files.ts'

/** The store as it is, or as it was at one moment. */
export class StoreView {
  /** The index, for reading. */
  readonly connection: DatabaseSync
  readonly #packs: PackFiles
  readonly #find

  constructor(connection: DatabaseSync, packs: PackFiles) {
    this.connection = connection
    this.#packs = packs
    this.#find = connection.prepare('SELECT pack, position, length FROM block WHERE cid = ?')
  }

  /**
   * Reads a block, and checks that its bytes are those that its CID names.
   *
   * @param memory for the bytes, if it is large enough
   * @throws NodekeepError NOT_FOUND if there is no such block; {@link DamagedBlock} if the disk has lost it or has other bytes
   */
  async get(cid: CID, memory?: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
    if (cid.multihash.code === identity.code) return cid.multihash.digest
    for (let before = -1; ; ) {
      const place = this.#find.get(keyOf(cid)) as BlockPlace | undefined
      if (place === undefined) throw new NodekeepError('NOT_FOUND', 'The node does not have this block.')
      const { pack, position, length } = place
      if (pack === 0) throw new DamagedBlock(cid)
      try {
        const bytes = await this.#packs.read(pack, position, length, memory)
        if (isBlockOf(cid.bytes, bytes)) return bytes
        throw new DamagedBlock(cid)
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        if (code === 'EIO') throw new DamagedBlock(cid, { cause: error })
        if (code !== 'ENOENT') throw error
        // The pack was rewritten after the look at the index.
        if (pack === before) throw new DamagedBlock(cid, { cause: error })
        before = pack
      }
    }
  }
}

/** The bytes of a block are not those that its CID names: the disk has lost or changed them. */
export class DamagedBlock extends Error {
  readonly cid: CID

  constructor(cid: CID, options?: ErrorOptions) {
    super(`The bytes of the block ${cid} are damaged on the disk.`, options)
    this.cid = cid
  }
}
