import type { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk/thread-parts'
import { sectionBytes } from './pack-format.ts'

/** The place of the bytes of a block. */
export interface BlockPlace {
  readonly pack: number
  readonly position: number
  readonly length: number
}

/** A row of the table of blocks. */
export interface IndexedBlock extends BlockPlace {
  readonly cid: Uint8Array
}

interface UnusedBlock extends IndexedBlock {
  /** The epoch. */
  readonly freed: number
}

/** The table of blocks, in the thread that writes. Each method that changes it is a part of a transaction of the caller. */
export class BlockIndex {
  readonly #statements
  #epoch: number

  constructor(connection: DatabaseSync) {
    const prepare = (sql: string) => connection.prepare(sql)
    this.#statements = {
      epoch: prepare('SELECT freed FROM block WHERE cid = ? AND pack > 0'),
      find: prepare('SELECT cid, pack, position, length FROM block WHERE cid = ? AND pack > 0'),
      add: prepare(`INSERT INTO block VALUES (?, ?, ?, ?, 0, ?) ON CONFLICT DO UPDATE
        SET pack = excluded.pack, position = excluded.position, length = excluded.length, freed = excluded.freed
        WHERE pack = 0`),
      retain: prepare('UPDATE block SET refs = refs + 1 WHERE cid = ? AND pack > 0'),
      retainLost: prepare(
        'INSERT INTO block VALUES (?, 0, 0, 0, 1, ?) ON CONFLICT DO UPDATE SET refs = refs + 1',
      ),
      release: prepare('UPDATE block SET refs = refs - 1, freed = max(freed, ?) WHERE cid = ?'),
      touch: prepare('UPDATE block SET freed = ? WHERE cid = ?'),
      move: prepare('UPDATE block SET pack = ?, position = ? WHERE cid = ?'),
      delete: prepare('DELETE FROM block WHERE cid = ?'),
      unused: prepare(
        'SELECT cid, pack, position, length, freed FROM block WHERE refs = 0 AND freed < ? ORDER BY freed LIMIT ?',
      ),
      inPack: prepare(
        'SELECT cid, pack, position, length FROM block WHERE pack = ? AND position > ? ORDER BY position LIMIT ?',
      ),
      setLength: prepare(
        'INSERT INTO pack VALUES (?, ?, 0) ON CONFLICT DO UPDATE SET length = excluded.length',
      ),
      addLive: prepare('UPDATE pack SET live = live + ? WHERE number = ?'),
      packs: prepare('SELECT number, length, live FROM pack ORDER BY live'),
      deletePack: prepare('DELETE FROM pack WHERE number = ?'),
    }
    this.#epoch = Number(
      connection.prepare('SELECT max(freed) AS epoch FROM block WHERE refs = 0').get()?.epoch ?? 0,
    )
  }

  /** Begins an epoch. Blocks that lose their last reference from now on count as freed in it. */
  nextEpoch(): number {
    this.#epoch += 1
    return this.#epoch
  }

  /** Returns the epoch in which a block was last freed or touched; `undefined` if there is no such block. */
  epochOf(cid: Uint8Array): number | undefined {
    return this.#statements.epoch.get(cid)?.freed as number | undefined
  }

  /** Keeps a block for all open sessions, also if it loses its last reference with a block that was freed in an earlier epoch. */
  touch(cid: Uint8Array): void {
    this.#statements.touch.run(this.#epoch, cid)
  }

  find(cid: Uint8Array): IndexedBlock | undefined {
    return this.#statements.find.get(cid) as IndexedBlock | undefined
  }

  /**
   * Adds a block that is on the disk.
   *
   * @returns whether it was not there
   */
  add(cid: Uint8Array, { pack, position, length }: BlockPlace): boolean {
    const isNew = this.#statements.add.run(cid, pack, position, length, this.#epoch).changes > 0
    if (isNew) this.#addLive(cid, length, pack)
    return isNew
  }

  /** Like {@link retain}, for a block that may be lost. */
  retainLost(cid: Uint8Array): void {
    this.#statements.retainLost.run(cid, this.#epoch)
  }

  /** @throws NodekeepError VALIDATION_ERROR if there is no such block */
  retain(cid: Uint8Array): void {
    if (this.#statements.retain.run(cid).changes === 0)
      throw new NodekeepError('VALIDATION_ERROR', 'A block is named that is not in the store.')
  }

  release(cid: Uint8Array): void {
    this.#statements.release.run(this.#epoch, cid)
  }

  /** Says that the bytes of a block are now at another place. */
  move(block: IndexedBlock, { pack, position }: BlockPlace): void {
    this.#statements.move.run(pack, position, block.cid)
    this.#addLive(block.cid, block.length, pack)
    this.#addLive(block.cid, block.length, block.pack, -1)
  }

  /** Returns some blocks that nothing names, and that were freed before an epoch. */
  unused(before: number, most: number): UnusedBlock[] {
    return this.#statements.unused.all(before, most) as unknown as UnusedBlock[]
  }

  /** Returns some blocks of a pack that are behind a position. */
  inPack(pack: number, position: number, most: number): IndexedBlock[] {
    return this.#statements.inPack.all(pack, position, most) as unknown as IndexedBlock[]
  }

  /**
   * Removes a block and its references. A block that loses its last reference counts as freed in the same epoch as this one. The bytes
   * stay in the pack until that is rewritten.
   */
  remove({ cid, pack, length, freed }: UnusedBlock, links: readonly Uint8Array[]): void {
    this.#statements.delete.run(cid)
    this.#addLive(cid, length, pack, -1)
    for (const link of links) this.#statements.release.run(freed, link)
  }

  /** Returns all packs, first those with the fewest bytes of blocks. */
  packs(): { readonly number: number; readonly length: number; readonly live: number }[] {
    return this.#statements.packs.all() as never
  }

  setLength(pack: number, length: number): void {
    this.#statements.setLength.run(pack, length)
  }

  /** Counts bytes of a pack that no block has, but that must stay. */
  keepBytes(pack: number, bytes: number): void {
    this.#statements.addLive.run(bytes, pack)
  }

  removePack(pack: number): void {
    this.#statements.deletePack.run(pack)
  }

  #addLive(cid: Uint8Array, length: number, pack: number, sign = 1): void {
    if (pack > 0) this.#statements.addLive.run(sign * sectionBytes(cid, length), pack)
  }
}
