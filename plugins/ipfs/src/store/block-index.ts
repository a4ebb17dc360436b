import type { DatabaseSync } from 'node:sqlite'
import { linksOf } from './links.ts'
import { sectionBytes } from './pack-format.ts'
import type { BlockPlace } from './pack-writer.ts'

/** The table of blocks, in the thread that writes. Each method is a part of a transaction of the caller. */
export class BlockIndex {
  readonly #statements

  constructor(connection: DatabaseSync) {
    const prepare = (sql: string) => connection.prepare(sql)
    this.#statements = {
      find: prepare('SELECT pack, position, length, refs FROM block WHERE cid = ?'),
      add: prepare('INSERT INTO block VALUES (?, ?, ?, ?, 0)'),
      count: prepare('UPDATE block SET refs = refs + ? WHERE cid = ?'),
      delete: prepare('DELETE FROM block WHERE cid = ?'),
      unused: prepare(
        'SELECT cid, pack, position, length FROM block WHERE refs = 0 AND cid > ? ORDER BY cid LIMIT ?',
      ),
      setLength: prepare(
        'INSERT INTO pack (number, length) VALUES (?, ?) ON CONFLICT DO UPDATE SET length = excluded.length',
      ),
      addDead: prepare('UPDATE pack SET dead = dead + ? WHERE number = ?'),
    }
  }

  has(cid: Uint8Array): boolean {
    return this.#statements.find.get(cid) !== undefined
  }

  /** Adds a block that is on the disk, and counts its links. */
  add(cid: Uint8Array, { pack, position, length }: BlockPlace, links: readonly Uint8Array[]): void {
    this.#statements.add.run(cid, pack, position, length)
    for (const link of links) this.retain(link)
  }

  /** @throws Error if there is no such block */
  retain(cid: Uint8Array): void {
    if (this.#statements.count.run(1, cid).changes === 0)
      throw new Error('A block is named that is not in the store.')
  }

  release(cid: Uint8Array): void {
    this.#statements.count.run(-1, cid)
  }

  /** Returns blocks that nothing in the index names, in the order of their CIDs. */
  unused(after: Uint8Array, most: number): ({ readonly cid: Uint8Array } & BlockPlace)[] {
    return this.#statements.unused.all(after, most).map((row) => ({
      cid: row.cid as Uint8Array,
      pack: Number(row.pack),
      position: Number(row.position),
      length: Number(row.length),
    }))
  }

  /** Removes a block. Its bytes stay in the pack until that is written anew. */
  remove(cid: Uint8Array, { pack, length }: BlockPlace, bytes: Uint8Array | null): void {
    this.#statements.delete.run(cid)
    this.#statements.addDead.run(sectionBytes(cid, length), pack)
    if (bytes !== null) for (const link of linksOf(cid, bytes)) this.release(link)
  }

  setLength(pack: number, length: number): void {
    this.#statements.setLength.run(pack, length)
  }
}
