import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CommittedChange } from './ledger.ts'
import { splitPath } from './split-path.ts'

/** Everything below a folder: `0` is the character after `/`. */
const below = `user = :user AND folder >= :path AND folder < :path || '0' AND (folder = :path OR folder >= :path || '/')`

/** Lets the dates of overwritten files follow what happens to the files. */
export class CreatedDates {
  readonly #note: StatementSync
  readonly #forget: StatementSync
  readonly #forgetBelow: StatementSync
  readonly #move: StatementSync
  readonly #moveBelow: StatementSync

  constructor(connection: DatabaseSync) {
    this.#note = connection.prepare(
      'INSERT OR REPLACE INTO created (user, folder, name, revision, created) VALUES (?, ?, ?, ?, ?)',
    )
    this.#forget = connection.prepare('DELETE FROM created WHERE user = ? AND folder = ? AND name = ?')
    this.#forgetBelow = connection.prepare(`DELETE FROM created WHERE ${below}`)
    this.#move = connection.prepare(
      'UPDATE created SET folder = ?, name = ? WHERE user = ? AND folder = ? AND name = ?',
    )
    this.#moveBelow = connection.prepare(
      `UPDATE created SET folder = :destination || substr(folder, length(:path) + 1) WHERE ${below}`,
    )
  }

  follow(change: CommittedChange): void {
    const { user, op, path, source, revision, created } = change
    if (op === 'mkdir') return
    this.#remove(user, path)
    if (op === 'move' && source !== null) this.#rename(user, source, path)
    if (op === 'delete' || created === null || revision === null) return
    const { folder, name } = splitPath(path)
    this.#note.run(user, folder, name, revision, created)
  }

  #remove(user: string, path: string): void {
    const { folder, name } = splitPath(path)
    this.#forget.run(user, folder, name)
    this.#forgetBelow.run({ user, path })
  }

  #rename(user: string, source: string, path: string): void {
    const from = splitPath(source)
    const to = splitPath(path)
    this.#move.run(to.folder, to.name, user, from.folder, from.name)
    this.#moveBelow.run({ user, path: source, destination: path })
  }
}
