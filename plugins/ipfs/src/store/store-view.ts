import type { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { CID } from 'multiformats/cid'
import { identity } from 'multiformats/hashes/identity'
import { sha256 } from 'multiformats/hashes/sha2'
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

  has(cid: CID): boolean {
    return cid.multihash.code === identity.code || this.#find.get(cid.bytes) !== undefined
  }

  /**
   * Reads a block, and checks that its bytes are those that its CID names.
   *
   * @throws NodekeepError NOT_FOUND if there is no such block; {@link DamagedBlock} if the disk has other bytes
   */
  async get(cid: CID): Promise<Uint8Array> {
    if (cid.multihash.code === identity.code) return cid.multihash.digest
    for (let before = -1; ; ) {
      const place = this.#find.get(cid.bytes)
      if (place === undefined) throw new NodekeepError('NOT_FOUND', 'The node does not have this block.')
      const { pack, position, length } = place as { pack: number; position: number; length: number }
      try {
        const bytes = await this.#packs.read(pack, position, length)
        if (await isBlockOf(cid, bytes)) return bytes
        throw new DamagedBlock(cid)
      } catch (error) {
        // The pack was written anew after the look at the index.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
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

/** Whether bytes have the hash that a CID names. Only SHA-256 is known: the node stores nothing else. */
export async function isBlockOf(cid: CID, bytes: Uint8Array): Promise<boolean> {
  if (cid.multihash.code !== sha256.code) return false
  const { digest } = await sha256.digest(bytes)
  return Buffer.compare(digest, cid.multihash.digest) === 0
}
