import type { DatabaseSync } from 'node:sqlite'
import { NodekeepError } from '@nodekeep/plugin-sdk'
import type { RequestProof } from './signed-request.ts'

/** Proofs that are kept at a time. A key costs nothing, so the limit for each node does not bound them. */
const maxProofs = 100_000

const windowSeconds = 60

/**
 * Sees to it that each signed request counts once. Nonces stay until their signature is too old to be valid, and longer than this
 * process: a release or a registration from before a restart must not come again.
 */
export class UsedProofs {
  readonly #database: DatabaseSync
  readonly #perMinute: number

  /** @param perMinute requests of one node per minute */
  constructor(database: DatabaseSync, perMinute: number) {
    this.#database = database
    this.#perMinute = perMinute
    database.exec(`
      CREATE TABLE IF NOT EXISTS proofs (
        node TEXT NOT NULL, nonce TEXT NOT NULL, used INTEGER NOT NULL, until INTEGER NOT NULL,
        PRIMARY KEY (node, nonce)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS proofs_by_end ON proofs (until);
    `)
  }

  /**
   * Uses a proof.
   *
   * @param now Unix time in seconds
   * @throws NodekeepError UNAUTHORIZED if it was used before, TOO_MANY_REQUESTS if the node has used too many, SERVICE_UNAVAILABLE if
   * all nodes together have
   */
  use({ nodeId, nonce, validUntil }: RequestProof, now: number): void {
    this.#database.prepare('DELETE FROM proofs WHERE until < ?').run(now)
    const recent = this.#count('SELECT count(*) AS count FROM proofs WHERE node = ? AND used > ?', [
      nodeId,
      now - windowSeconds,
    ])
    if (recent >= this.#perMinute) {
      throw new NodekeepError('TOO_MANY_REQUESTS', 'Too many requests came from this node.', retryLater)
    }
    if (this.#count('SELECT count(*) AS count FROM proofs', []) >= maxProofs) {
      throw new NodekeepError('SERVICE_UNAVAILABLE', 'Too many nodes are registering. Try again later.', {
        ...retryLater,
        logged: true,
      })
    }
    const { changes } = this.#database
      .prepare('INSERT OR IGNORE INTO proofs (node, nonce, used, until) VALUES (?, ?, ?, ?)')
      .run(nodeId, nonce, now, validUntil)
    if (changes === 0) {
      throw new NodekeepError(
        'UNAUTHORIZED',
        'This signature was used before. Sign each request anew, with a "nonce" of its own.',
      )
    }
  }

  #count(sql: string, values: (string | number)[]): number {
    return Number(this.#database.prepare(sql).get(...values)?.count)
  }
}

const retryLater = { headers: { 'retry-after': String(windowSeconds) } }
