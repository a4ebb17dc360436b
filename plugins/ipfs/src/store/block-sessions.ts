import { statfsSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk/data-folder'
import { NodekeepError } from '@nodekeep/plugin-sdk/thread-parts'
import { CID } from 'multiformats/cid'
import * as raw from 'multiformats/codecs/raw'
import type { BlockIndex, BlockPlace } from './block-index.ts'
import { fullDisk, usableBytes } from './disk-space.ts'
import { LostSync } from './failures.ts'
import { linksOf } from './links.ts'
import type { PackReader } from './pack-reader.ts'
import type { PackWriter } from './pack-writer.ts'

/** Bytes of blocks that wait for their rows in the index. */
const mostWaitingBytes = 64 * 1024 * 1024

/** Blocks that wait for their rows, or for a note that a session holds them. */
const mostWaiting = 10_000

/** Bytes after which the space of the disk is looked at again. */
const mostUncheckedBytes = 8 * 1024 * 1024

/** The session of the record of the tree. Those of others are larger. */
export const recordSession = 0

/** A block that was appended, and has no row yet. */
interface WaitingBlock {
  readonly cid: Uint8Array
  readonly place: BlockPlace
  readonly links: readonly Uint8Array[]
}

interface BlockSessionsServices {
  readonly connection: DatabaseSync
  readonly blocks: BlockIndex
  readonly packs: PackWriter
  readonly reader: PackReader
  /** The folder of the packs. */
  readonly folder: string
}

/**
 * The blocks that sessions put and hold, and their way into the index. The order is: append, sync, commit. So the index never names bytes
 * that a power loss can take, and what a crash leaves behind the recorded length of a pack is cut at the next start.
 *
 * A session has no list of the blocks that it put or asked for. It has the epoch of its begin, and no block is removed that was freed or
 * touched in that epoch or later.
 */
export class BlockSessions {
  readonly #connection: DatabaseSync
  readonly #blocks: BlockIndex
  readonly #packs: PackWriter
  readonly #reader: PackReader
  readonly #folder: string
  /** Epochs of the open sessions, the oldest first. */
  readonly #epochs = new Map<number, number>()
  readonly #waiting = new Map<string, WaitingBlock>()
  #waitingBytes = 0
  /** Bytes that may be appended before the next look at the space of the disk. */
  #bytesToCheck = 0
  /** Blocks with a row that sessions have put again or asked for. */
  readonly #touched = new Map<string, Uint8Array>()
  /** Lengths of packs that are on the disk, and not in the index yet. */
  readonly #syncedLengths = new Map<number, number>()

  constructor({ connection, blocks, packs, reader, folder }: BlockSessionsServices) {
    this.#connection = connection
    this.#blocks = blocks
    this.#packs = packs
    this.#reader = reader
    this.#folder = folder
  }

  /** Appends a block, unless it is there and whole, and holds it. @throws NodekeepError VALIDATION_ERROR, INSUFFICIENT_STORAGE */
  put(session: number, cid: Uint8Array, bytes: Uint8Array): void {
    const epoch = this.#epochOf(session)
    if (this.#hold(epoch, cid)) {
      this.#repair(cid, bytes)
      return
    }
    const links = validLinksOf(cid, bytes)
    if (!links.every((link) => this.#hold(epoch, link)))
      throw new NodekeepError('VALIDATION_ERROR', 'A block links to one that is not in the store.')
    if (session !== recordSession) this.#checkSpace(bytes.length)
    this.#waiting.set(textOf(cid), { cid, links, place: this.#packs.append(cid, bytes) })
    this.#waitingBytes += bytes.length
    if (this.#waitingBytes >= mostWaitingBytes || this.#waiting.size >= mostWaiting) this.flush()
  }

  /** @throws NodekeepError NOT_FOUND if there is no such block */
  hold(session: number, cid: Uint8Array): void {
    if (!this.#hold(this.#epochOf(session), cid))
      throw new NodekeepError('NOT_FOUND', 'There is no such block.')
  }

  /** Commits the blocks that wait for their rows. */
  flush(): void {
    if (this.#waiting.size > 0) this.transaction(() => {})
  }

  end(session: number): void {
    this.#epochs.delete(session)
    if (this.#epochs.size === 0) this.#touched.clear()
  }

  /** Whether no session is open. */
  get areEnded(): boolean {
    return this.#epochs.size === 0
  }

  /** The epoch of the oldest session: blocks that were freed or touched in it or later must stay. */
  get oldestEpoch(): number {
    for (const epoch of this.#epochs.values()) return epoch
    return Number.MAX_SAFE_INTEGER
  }

  /** Syncs what was appended, and commits it with the work. If that fails, the next transaction commits it. */
  transaction<T>(work: () => T): T {
    this.#sync()
    const result = inTransaction(this.#connection, () => {
      for (const [pack, length] of this.#syncedLengths) this.#blocks.setLength(pack, length)
      for (const cid of this.#touched.values()) this.#blocks.touch(cid)
      for (const { cid, place, links } of this.#waiting.values()) {
        this.#blocks.add(cid, place)
        for (const link of links) this.#blocks.retain(link)
      }
      return work()
    })
    this.#syncedLengths.clear()
    this.#touched.clear()
    this.#waiting.clear()
    this.#waitingBytes = 0
    return result
  }

  #sync(): void {
    try {
      const synced = this.#packs.sync()
      if (synced !== null) this.#syncedLengths.set(synced.number, synced.length)
    } catch (error) {
      throw new LostSync('The disk did not store the blocks.', { cause: error })
    }
  }

  #epochOf(session: number): number {
    const epoch = this.#epochs.get(session) ?? this.#blocks.nextEpoch()
    this.#epochs.set(session, epoch)
    return epoch
  }

  /** Replaces the bytes of a block if the disk has lost or changed them: whoever puts a block can read it afterwards. */
  #repair(cid: Uint8Array, bytes: Uint8Array): void {
    const block = this.#blocks.find(cid)
    if (block === undefined || this.#reader.read(block) !== null) return
    this.#checkSpace(bytes.length)
    const place = this.#packs.append(cid, bytes)
    this.transaction(() => this.#blocks.move(block, place))
  }

  /** @returns whether there is such a block */
  #hold(epoch: number, cid: Uint8Array): boolean {
    const text = textOf(cid)
    if (this.#waiting.has(text) || this.#touched.has(text)) return true
    const touched = this.#blocks.epochOf(cid)
    if (touched === undefined) return false
    if (touched < epoch) this.#touched.set(text, cid)
    if (this.#touched.size >= mostWaiting) this.transaction(() => {})
    return true
  }

  /** @throws NodekeepError INSUFFICIENT_STORAGE if a block would use space that removals and rewritten packs need */
  #checkSpace(bytes: number): void {
    this.#bytesToCheck -= bytes
    if (this.#bytesToCheck > 0) return
    const left = usableBytes(statfsSync(this.#folder)) - bytes
    if (left < 0) throw fullDisk()
    this.#bytesToCheck = Math.min(left / 2, mostUncheckedBytes)
  }
}

function textOf(cid: Uint8Array): string {
  return Buffer.from(cid).toString('latin1')
}

function validLinksOf(cid: Uint8Array, bytes: Uint8Array): Uint8Array[] {
  try {
    // Decoders of text do not read memory that threads share.
    return CID.decode(cid).code === raw.code ? [] : linksOf(cid, bytes.slice())
  } catch (cause) {
    throw new NodekeepError('VALIDATION_ERROR', 'A block is not what its CID says.', { cause })
  }
}
