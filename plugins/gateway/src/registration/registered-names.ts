import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { Names } from '../addresses/names.ts'
import type { OwnAddress } from '../addresses/own-address.ts'

/** A registered name. */
interface RegisteredName {
  readonly node: string
  /** The node's own address on the internet; `null` if it is behind its tunnel. */
  readonly address: OwnAddress | null
}

interface Row {
  readonly node: string
  readonly address: string | null
  readonly port: number | null
}

/** Names of all nodes together. A key costs nothing, so the limit for each node does not bound them. */
const maxNames = 100_000

/** The names that nodes have registered. A name that the operator gives in the configuration wins over them. */
export class RegisteredNames implements Names {
  readonly #configured: Names
  readonly #database: DatabaseSync
  readonly #byName: StatementSync

  constructor(database: DatabaseSync, configured: Names) {
    this.#configured = configured
    this.#database = database
    database.exec(`
      CREATE TABLE IF NOT EXISTS names (
        name TEXT PRIMARY KEY, node TEXT NOT NULL, address TEXT, port INTEGER, since INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX IF NOT EXISTS names_by_node ON names (node);
    `)
    this.#byName = database.prepare('SELECT node, address, port FROM names WHERE name = ?')
  }

  /** Returns the node behind a tunnel to which a name points. */
  ownerOf(label: string): string | null {
    const found = this.find(label)
    return found === null || found.address !== null ? null : found.node
  }

  /** Returns the address on the internet to which a name points. */
  addressOf(label: string): OwnAddress | null {
    return this.find(label)?.address ?? null
  }

  /** Returns the names that point to the tunnel of a node. */
  labelsOf(nodeId: string): string[] {
    const rows = this.#database
      .prepare('SELECT name FROM names WHERE node = ? AND address IS NULL ORDER BY since, name')
      .all(nodeId)
    const own = rows.map(({ name }) => String(name)).filter((name) => this.ownerOf(name) === nodeId)
    return [...new Set([...this.#configured.labelsOf(nodeId), ...own])]
  }

  find(label: string): RegisteredName | null {
    const given = this.#configured.ownerOf(label)
    if (given !== null) return { node: given, address: null }
    const row = this.#byName.get(label) as unknown as Row | undefined
    if (row === undefined) return null
    const { node, address, port } = row
    return { node, address: address === null || port === null ? null : { address, port } }
  }

  /**
   * Gives a name to a node, or changes where the node's own name points. The first node that asks gets a name.
   *
   * @param most how many names a node may have
   * @throws NodekeepError CONFLICT if another node has the name, FORBIDDEN if the node has as many names as it may,
   * INSUFFICIENT_STORAGE if all nodes together have
   */
  claim(label: string, node: string, address: OwnAddress | null, most: number): void {
    this.check(label, node, most)
    this.#database
      .prepare(
        `INSERT INTO names (name, node, address, port, since) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (name) DO UPDATE SET address = excluded.address, port = excluded.port`,
      )
      .run(label, node, address?.address ?? null, address?.port ?? null, Date.now())
  }

  /** Throws what {@link claim} would throw, and changes nothing. */
  check(label: string, node: string, most: number): void {
    const found = this.find(label)
    if (this.#configured.ownerOf(label) !== null || (found !== null && found.node !== node)) {
      throw new NodekeepError('CONFLICT', `The name "${label}" is taken. Choose another one.`)
    }
    if (found !== null) return
    const { inAll, count } = this.#database
      .prepare('SELECT count(*) AS inAll, count(*) FILTER (WHERE node = ?) AS count FROM names')
      .get(node) as { readonly inAll: number; readonly count: number }
    if (inAll >= maxNames) {
      throw new NodekeepError('INSUFFICIENT_STORAGE', 'The gateway has as many names as it may.')
    }
    if (count >= most) {
      throw new NodekeepError(
        'FORBIDDEN',
        `This node has ${count} names, which is the limit of the gateway. Release one first.`,
      )
    }
  }

  /**
   * Takes a name back from its node.
   *
   * @throws NodekeepError NOT_FOUND if nobody has registered it, FORBIDDEN if another node has it
   */
  release(label: string, node: string): void {
    const row = this.#byName.get(label) as unknown as Row | undefined
    if (row === undefined) throw new NodekeepError('NOT_FOUND', `Nobody has registered the name "${label}".`)
    if (row.node !== node) {
      throw new NodekeepError('FORBIDDEN', `Another node has registered the name "${label}".`)
    }
    this.#database.prepare('DELETE FROM names WHERE name = ?').run(label)
  }
}
