import type { StateDatabase } from './state-database.ts'

/** Records by path in a table of the database. They are read when they are needed, so that many of them take no memory. */
export class PathTable<T> {
  readonly #database: StateDatabase
  /** The table. It has a column `path`, which is its key, and a column `record` of JSON. */
  readonly #name: string
  #size = 0
  #pathBytes = 0

  constructor(database: StateDatabase, name: string) {
    this.#database = database
    this.#name = name
  }

  /** Number of paths. */
  get size(): number {
    return this.#size
  }

  /** Bytes of all paths. */
  get pathBytes(): number {
    return this.#pathBytes
  }

  /** Counts the records, at the start and after the end of a transaction without its changes. */
  count(): void {
    const sums = `SELECT count(*) AS size, total(octet_length(path)) AS bytes FROM ${this.#name}`
    const row = this.#database.row(sums)
    this.#size = Number(row?.size)
    this.#pathBytes = Number(row?.bytes)
  }

  get(path: string): T | undefined {
    const row = this.#database.row(`SELECT record FROM ${this.#name} WHERE path = ?`, path)
    return row === undefined ? undefined : JSON.parse(String(row.record))
  }

  set(path: string, record: T): void {
    const json = JSON.stringify(record)
    if (this.#database.run(`UPDATE ${this.#name} SET record = ? WHERE path = ?`, json, path) > 0) return
    this.#database.run(`INSERT INTO ${this.#name} (path, record) VALUES (?, ?)`, path, json)
    this.#size += 1
    this.#pathBytes += Buffer.byteLength(path)
  }

  delete(path: string): void {
    if (this.#database.run(`DELETE FROM ${this.#name} WHERE path = ?`, path) === 0) return
    this.#size -= 1
    this.#pathBytes -= Buffer.byteLength(path)
  }

  clear(): void {
    this.#database.run(`DELETE FROM ${this.#name}`)
    this.#size = 0
    this.#pathBytes = 0
  }

  /** Whether no path below a folder has a record. */
  isEmpty(folder: string): boolean {
    const below = `SELECT 1 FROM ${this.#name} WHERE ${isBelow('?1')} LIMIT 1`
    return this.#database.row(below, prefixOf(folder)) === undefined
  }

  /** The paths of a folder and of everything below it that have a record, in order. */
  within(folder: string): string[] {
    const folderItself = `SELECT path FROM ${this.#name} WHERE path = ?1`
    const query = `${folderItself} UNION ALL SELECT path FROM ${this.#name} WHERE ${isBelow('?2')} ORDER BY path`
    return Array.from(this.#database.rows(query, folder, prefixOf(folder)), ({ path }) => String(path))
  }
}

/** All paths below a folder lie between two texts: `0` is the character after `/`. */
function isBelow(prefix: string): string {
  return `path > ${prefix} || '/' AND path < ${prefix} || '0'`
}

function prefixOf(folder: string): string {
  return folder === '/' ? '' : folder
}
