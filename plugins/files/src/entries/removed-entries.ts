import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { removed } from './entry-tables.ts'

/** Deletes what is below removed folders, step by step. */
export class RemovedEntries {
  readonly #next: StatementSync
  readonly #removeFolders: StatementSync
  readonly #deleteFiles: StatementSync
  readonly #delete: StatementSync

  constructor(connection: DatabaseSync) {
    this.#next = connection.prepare(`SELECT id FROM entries WHERE parent = ${removed} LIMIT 1`)
    const children = 'SELECT id FROM entries WHERE parent = ? ORDER BY name LIMIT ?'
    this.#removeFolders = connection.prepare(
      `UPDATE entries SET parent = ${removed}, name = id WHERE id IN (${children}) AND below > 0`,
    )
    this.#deleteFiles = connection.prepare(`DELETE FROM entries WHERE id IN (${children}) AND below = 0`)
    this.#delete = connection.prepare('DELETE FROM entries WHERE id = ?')
  }

  isAny(): boolean {
    return this.#next.get() !== undefined
  }

  /**
   * Deletes at most a number of entries. The caller has a transaction open.
   *
   * @returns whether more may be left
   */
  step(limit: number): boolean {
    for (let left = limit; left > 0; ) {
      const folder = this.#next.get()?.id
      if (typeof folder !== 'number') return false
      const deleted = Number(this.#deleteFiles.run(folder, left).changes)
      const moved = Number(this.#removeFolders.run(folder, left).changes)
      if (deleted + moved < left) this.#delete.run(folder)
      left -= deleted + moved + 1
    }
    return true
  }
}
