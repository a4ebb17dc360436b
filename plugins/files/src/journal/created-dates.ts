import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CommittedChange } from './change.ts'

/** When a file was created that was overwritten since, so that its backend does not know. */
export interface CreatedDate {
  readonly revision: string
  readonly created: Date
}

/** The columns of a path: its folder, `/` for the top, and its name there. */
export function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf('/')
  return { folder: path.slice(0, slash) || '/', name: path.slice(slash + 1) }
}

/** Everything below a folder: `0` is the character after `/`. */
const below = `user = :user AND folder >= :path AND folder < :path || '0' AND (folder = :path OR folder >= :path || '/')`

/** Keeps the dates of overwritten files when the files change, move or go. */
export class CreatedDates {
  readonly #insert: StatementSync
  readonly #delete: StatementSync
  readonly #deleteBelow: StatementSync
  readonly #move: StatementSync
  readonly #moveBelow: StatementSync

  constructor(connection: DatabaseSync) {
    this.#insert = connection.prepare(
      'INSERT OR REPLACE INTO created (user, folder, name, revision, created) VALUES (?, ?, ?, ?, ?)',
    )
    this.#delete = connection.prepare('DELETE FROM created WHERE user = ? AND folder = ? AND name = ?')
    this.#deleteBelow = connection.prepare(`DELETE FROM created WHERE ${below}`)
    this.#move = connection.prepare(
      'UPDATE created SET folder = ?, name = ? WHERE user = ? AND folder = ? AND name = ?',
    )
    this.#moveBelow = connection.prepare(
      `UPDATE created SET folder = :destination || substr(folder, length(:path) + 1) WHERE ${below}`,
    )
  }

  apply({ user, op, path, source, revision, created }: CommittedChange): void {
    if (op === 'mkdir') return
    const { folder, name } = splitPath(path)
    this.#delete.run(user, folder, name)
    this.#deleteBelow.run({ user, path })
    if (op === 'move' && source !== null) {
      const from = splitPath(source)
      this.#move.run(folder, name, user, from.folder, from.name)
      this.#moveBelow.run({ user, path: source, destination: path })
    }
    if (op === 'delete' || created === null || revision === null) return
    this.#insert.run(user, folder, name, revision, created)
  }
}
