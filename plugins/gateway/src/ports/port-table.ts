import { DatabaseSync } from 'node:sqlite'
import type { PortRange } from './port-range.ts'

/** Milliseconds for which the port of a node that stays away is kept at most, when all ports are taken. */
const keptMs = 90 * 86_400_000

/** An allocated port. */
interface AllocatedPort {
  readonly port: number
  readonly node: string
}

/** Which port belongs to which node. A node keeps its port when it leaves, and when the gateway starts again. */
export class PortTable {
  readonly #database: DatabaseSync
  readonly #range: PortRange

  constructor(file: string, range: PortRange) {
    this.#range = range
    this.#database = new DatabaseSync(file)
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = NORMAL;
      CREATE TABLE IF NOT EXISTS ports (
        port INTEGER PRIMARY KEY, node TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL, stayed INTEGER NOT NULL DEFAULT 0
      ) STRICT;
    `)
  }

  /** All allocated ports within the range. */
  all(): AllocatedPort[] {
    const { first, last } = this.#range
    const rows = this.#database
      .prepare('SELECT port, node FROM ports WHERE port BETWEEN ? AND ?')
      .all(first, last)
    return rows as unknown as AllocatedPort[]
  }

  /**
   * Returns the port of a node that arrives. A node without a port gets one: a free one, or that of a node which has been away for
   * longer than it was ever connected. A key costs nothing, so nodes that come only once must not keep the ports for themselves.
   *
   * @param skip ports that a node without one does not get, since another program uses them
   * @param present the nodes that are connected
   * @returns `null` if all ports belong to other nodes
   */
  allocate(
    node: string,
    skip: ReadonlySet<number>,
    present: () => readonly string[],
    now = Date.now(),
  ): number | null {
    const known = this.#portOf(node)
    if (known !== null && this.#isInRange(known)) {
      this.#database.prepare('UPDATE ports SET seen = ? WHERE node = ?').run(now, node)
      return known
    }
    const port = this.#freePort(skip) ?? this.#abandonedPort(present(), now)
    if (port === null) return null
    this.#database
      .prepare('INSERT OR REPLACE INTO ports (port, node, seen) VALUES (?, ?, ?)')
      .run(port, node, now)
    return port
  }

  /** Notes that nodes are still connected since they arrived, or since the last note. */
  note(present: readonly string[], now = Date.now()): void {
    // One statement, since a transaction that fails would stay open.
    this.#database
      .prepare(
        'UPDATE ports SET stayed = stayed + ? - seen, seen = ? WHERE node IN (SELECT value FROM json_each(?))',
      )
      .run(now, now, JSON.stringify(present))
  }

  /** Whether a node has a port. */
  has(node: string): boolean {
    const port = this.#portOf(node)
    return port !== null && this.#isInRange(port)
  }

  /** Takes the port of a node back. */
  release(node: string): void {
    this.#database.prepare('DELETE FROM ports WHERE node = ?').run(node)
  }

  close(): void {
    this.#database.close()
  }

  #isInRange(port: number): boolean {
    return port >= this.#range.first && port <= this.#range.last
  }

  #portOf(node: string): number | null {
    const row = this.#database.prepare('SELECT port FROM ports WHERE node = ?').get(node)
    return (row?.port as number | undefined) ?? null
  }

  #freePort(skip: ReadonlySet<number>): number | null {
    const taken = new Set(this.all().map(({ port }) => port))
    for (let port = this.#range.first; port <= this.#range.last; port += 1) {
      if (!taken.has(port) && !skip.has(port)) return port
    }
    return null
  }

  /** Returns the port of the node that has been away for the longest time. */
  #abandonedPort(present: readonly string[], now: number): number | null {
    this.note(present, now)
    const { first, last } = this.#range
    const oldest = this.#database
      .prepare(
        'SELECT port FROM ports WHERE port BETWEEN ? AND ? AND ? - seen > min(stayed, ?) ORDER BY seen LIMIT 1',
      )
      .get(first, last, now, keptMs)
    return (oldest?.port as number | undefined) ?? null
  }
}
