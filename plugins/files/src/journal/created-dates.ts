import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { StorageListEntry } from '@nodekeep/plugin-sdk'
import type { CommittedChange } from './change.ts'

/** When a file was created that was overwritten or restored since, so that its backend does not know. */
export interface CreatedDate {
  /** The revision of the file, or {@link restoredRevision}. */
  readonly revision: string
  readonly created: Date
}

/** The date of creation of a restored file. */
export interface RestoredDate {
  readonly userUuid: string
  readonly path: string
  readonly size: number
  readonly modified: Date
  readonly created: Date
}

/** The facts by which a date of creation is known to belong to a file. Listings may lack the revision. */
export type FileVersion = Pick<StorageListEntry, 'revision' | 'size' | 'modified'>

/** Storages keep times in steps of up to two seconds. In milliseconds. */
const coarsestTimeMs = 2000

/**
 * Stands for the revision of a restored file, which is not known without reading the storage. No revision of a storage
 * contains a quotation mark.
 */
function restoredRevision({ size, modified }: Pick<RestoredDate, 'size' | 'modified'>): string {
  return `"${size} ${modified.getTime()}`
}

/** Returns the date if it belongs to this version of the file. */
export function createdIf(known: CreatedDate | undefined, file: FileVersion): Date | null {
  if (known === undefined) return null
  const [, size, modified] = /^"(\d+) (-?\d+)$/.exec(known.revision) ?? []
  const isSame =
    size === undefined
      ? known.revision === file.revision
      : Number(size) === file.size && Math.abs(Number(modified) - file.modified.getTime()) <= coarsestTimeMs
  return isSame ? known.created : null
}

/** The columns of a path: its folder, `/` for the top, and its name there. */
export function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf('/')
  return { folder: path.slice(0, slash) || '/', name: path.slice(slash + 1) }
}

/** The columns `revision` and `created` of a row. */
export function createdDateOf({ revision, created }: Readonly<Record<string, unknown>>): CreatedDate {
  return { revision: String(revision), created: new Date(Number(created)) }
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

  /** Remembers when restored files were created. */
  restore(dates: readonly RestoredDate[]): void {
    for (const date of dates) {
      const { folder, name } = splitPath(date.path)
      this.#insert.run(date.userUuid, folder, name, restoredRevision(date), date.created.getTime())
    }
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
