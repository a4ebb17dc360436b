import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { inTransaction } from '@nodekeep/plugin-sdk'
import type { Block, Content } from '../../protocol/content-blocks.ts'

/** A place in a content that has some block. */
interface BlockPlace {
  /** The SHA-256 of the whole content. */
  readonly sha256: string
  /** The first byte. */
  readonly start: number
}

/** Contents that one step deletes at most, so that the event loop is never held up for long. Each has up to 32,768 blocks. */
const stepRows = 10
/** Places of one block that are tried. */
const mostPlaces = 8

/**
 * The blocks of the contents that a user's files have, as far as they are known. Contents of one block are left out. Each user has rows of
 * their own: what others have makes no difference, not even in time.
 */
export class KnownBlocks {
  readonly #connection: DatabaseSync
  readonly #blocks: StatementSync
  readonly #places: StatementSync
  readonly #after: StatementSync
  readonly #forget: StatementSync
  readonly #erase: StatementSync

  constructor(connection: DatabaseSync) {
    this.#connection = connection
    this.#blocks = connection.prepare(
      `SELECT blocks.size, blocks.sha256 FROM cuts JOIN blocks ON blocks.cut = cuts.id
       WHERE cuts.user = ? AND cuts.sha256 = ? ORDER BY start`,
    )
    this.#places = connection.prepare(
      `SELECT cuts.sha256, start FROM blocks JOIN cuts ON cuts.id = blocks.cut
       WHERE blocks.sha256 = ? AND blocks.size = ? AND user = ? LIMIT ${mostPlaces}`,
    )
    this.#after = connection.prepare('SELECT id, user, sha256 FROM cuts WHERE id > ? ORDER BY id LIMIT 1')
    this.#forget = connection.prepare('DELETE FROM cuts WHERE user = ? AND sha256 = ?')
    this.#erase = connection.prepare(
      `DELETE FROM cuts WHERE id IN (SELECT id FROM cuts WHERE user = ? LIMIT ${stepRows})`,
    )
  }

  /** The blocks of a content; null if they are not known. */
  of(userUuid: string, sha256: string): Block[] | null {
    const rows = this.#blocks.all(userUuid, Buffer.from(sha256, 'hex'))
    if (rows.length === 0) return null
    return rows.map((row) => ({ sha256: hexadecimal(row.sha256), size: Number(row.size) }))
  }

  /** Places of a block in the contents of a user. */
  placesOf(userUuid: string, { sha256, size }: Block): BlockPlace[] {
    return this.#places.all(Buffer.from(sha256, 'hex'), size, userUuid).map((row) => {
      return { sha256: hexadecimal(row.sha256), start: Number(row.start) }
    })
  }

  /** Remembers the blocks of a content. */
  set(userUuid: string, { sha256, blocks }: Content): void {
    if (blocks.length < 2) return
    const hash = Buffer.from(sha256, 'hex')
    inTransaction(this.#connection, () => {
      this.#forget.run(userUuid, hash)
      const { lastInsertRowid } = this.#connection
        .prepare('INSERT INTO cuts (user, sha256) VALUES (?, ?)')
        .run(userUuid, hash)
      const insert = this.#connection.prepare(
        'INSERT INTO blocks (cut, start, size, sha256) VALUES (?, ?, ?, ?)',
      )
      let start = 0
      for (const block of blocks) {
        insert.run(lastInsertRowid, start, block.size, Buffer.from(block.sha256, 'hex'))
        start += block.size
      }
    })
  }

  forget(userUuid: string, sha256: string): void {
    this.#forget.run(userUuid, Buffer.from(sha256, 'hex'))
  }

  /** Forgets the contents that no file has any more. */
  async sweep(isThere: (userUuid: string, sha256: string) => Promise<boolean>): Promise<void> {
    for (let row = this.#after.get(0); row !== undefined; row = this.#after.get(Number(row.id))) {
      const [userUuid, sha256] = [String(row.user), hexadecimal(row.sha256)]
      if (!(await isThere(userUuid, sha256))) this.forget(userUuid, sha256)
    }
  }

  /** @param turn lets other work of the process have its turn */
  async erase(userUuid: string, turn: () => Promise<unknown>): Promise<void> {
    while (this.#erase.run(userUuid).changes === stepRows) await turn()
  }
}

function hexadecimal(value: unknown): string {
  return Buffer.from(value as Uint8Array).toString('hex')
}
