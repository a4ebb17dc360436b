import type { DatabaseSync } from 'node:sqlite'
import type { BlockIndex } from './block-index.ts'

/** The table of roots, in the thread that writes. */
export class Roots {
  readonly #blocks: BlockIndex
  readonly #statements

  constructor(connection: DatabaseSync, blocks: BlockIndex) {
    this.#blocks = blocks
    this.#statements = {
      get: connection.prepare('SELECT cid FROM root WHERE holder = ?'),
      set: connection.prepare('INSERT OR REPLACE INTO root VALUES (?, ?)'),
      delete: connection.prepare('DELETE FROM root WHERE holder = ?'),
    }
  }

  get(holder: string): Uint8Array | undefined {
    return this.#statements.get.get(holder)?.cid as Uint8Array | undefined
  }

  /**
   * Names another block for a holder, or none. It is a part of a transaction of the caller.
   *
   * @throws NodekeepError VALIDATION_ERROR if there is no such block
   */
  set(holder: string, cid: Uint8Array | null): void {
    const former = this.get(holder)
    if (cid !== null) this.#blocks.retain(cid)
    if (former !== undefined) this.#blocks.release(former)
    if (cid === null) this.#statements.delete.run(holder)
    else this.#statements.set.run(holder, cid)
  }
}
