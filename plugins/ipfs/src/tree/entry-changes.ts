import type { DatabaseSync } from 'node:sqlite'
import type { BlockIndex } from '../store/block-index.ts'
import type { EntryChange } from './entry-change.ts'

/** The changes of the tree, in the thread that writes. Each method is a part of a transaction of the caller. */
export class EntryChanges {
  readonly #connection: DatabaseSync
  readonly #blocks: BlockIndex

  constructor(connection: DatabaseSync, blocks: BlockIndex) {
    this.#connection = connection
    this.#blocks = blocks
  }

  /** @throws NodekeepError if the change cannot be made; the caller takes back what it has done then */
  apply(change: EntryChange): void {
    throw new Error(`${change.kind} ${this.#connection.isOpen} ${this.#blocks}`)
  }

  /**
   * Deletes some rows of entries that were removed with their folder.
   *
   * @returns whether there may be more
   */
  sweep(_most: number): boolean {
    return false
  }
}
