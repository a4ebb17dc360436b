import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { NodekeepError, nameOf, type StorageEntry } from '@nodekeep/plugin-sdk'
import { nameFrom, namesOf, rootId, storedName } from './entry-names.ts'

/** Rows of a folder that are read at once. */
const pageRows = 500

const columns = 'id, name, root, size, modified, created, revision'

/** An entry, and what the index knows of it. */
interface FoundEntry {
  readonly entry: StorageEntry
  /** The bytes of the CID of the content. Null for a folder. */
  readonly root: Uint8Array | null
}

/** The tree of the backend, as a connection to the index sees it. */
export class Entries {
  readonly #statements

  constructor(connection: DatabaseSync) {
    const prepare = (sql: string) => connection.prepare(sql)
    this.#statements = {
      root: prepare(`SELECT ${columns} FROM entry WHERE id = ${rootId}`),
      // `parent <> 0` lets SQLite use the index of the entries that exist.
      find: prepare(`SELECT ${columns} FROM entry WHERE parent = ? AND name = ? AND parent <> 0`),
      page: prepare(
        `SELECT ${columns} FROM entry WHERE parent = ? AND name > ? AND parent <> 0 ORDER BY name LIMIT ${pageRows}`,
      ),
    }
  }

  find(path: string): FoundEntry | undefined {
    const row = this.#row(path)
    return row && { entry: entryOf(nameOf(path), row), root: row.root as Uint8Array | null }
  }

  /** @throws NodekeepError NOT_FOUND */
  get(path: string): FoundEntry {
    const found = this.find(path)
    if (found === undefined) throw new NodekeepError('NOT_FOUND', `There is nothing at ${path}.`)
    return found
  }

  /** Yields pages of the entries of a folder whose names come after a name, sorted by name. A path that is no folder has none. */
  *list(path: string, after = ''): Generator<readonly StorageEntry[]> {
    const folder = this.#row(path)
    if (folder === undefined || folder.root !== null) return
    for (let name = storedName(after); ; ) {
      const rows = this.#statements.page.all(folder.id as number, name)
      yield rows.map((row) => entryOf(nameFrom(row.name as Uint8Array), row))
      if (rows.length < pageRows) return
      name = rows.at(-1)?.name as Uint8Array
    }
  }

  #row(path: string): Record<string, SQLOutputValue> | undefined {
    let row = this.#statements.root.get()
    for (const name of namesOf(path))
      row = row && this.#statements.find.get(row.id as number, storedName(name))
    return row
  }
}

function entryOf(
  name: string,
  { root, size, modified, created, revision }: Record<string, SQLOutputValue>,
): StorageEntry {
  return {
    name,
    type: root === null ? 'directory' : 'file',
    size: Number(size),
    modified: new Date(Number(modified)),
    created: new Date(Number(created)),
    revision: String(revision),
  }
}
