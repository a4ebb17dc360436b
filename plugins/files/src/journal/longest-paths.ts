import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ChangeIntent } from './journal.ts'

/** Paths are noted from this length on, in bytes. Nearly nobody has one, so nearly nobody pays for it. */
export const unnoted = 1024

/** Bytes of UTF-8 that a character of UTF-16 takes at most. */
const bytesPerCharacter = 3

/**
 * Notes how long the paths of a user may be. A folder that moves takes paths along that nobody has looked at: with this
 * bound, nobody has to as long as none of them can become too long.
 */
export class LongestPaths {
  readonly #raise: StatementSync

  constructor(connection: DatabaseSync) {
    this.#raise = connection.prepare(
      'INSERT INTO longest (user, bytes) VALUES (?, ?) ON CONFLICT DO UPDATE SET bytes = max(bytes, excluded.bytes)',
    )
  }

  /** Counts also what then doesn't happen: the bound is never too low. */
  note({ userUuid, path, longest = 0 }: ChangeIntent): void {
    const bytes = path.length * bytesPerCharacter > unnoted ? Buffer.byteLength(path) : 0
    const most = Math.max(bytes, longest)
    if (most > unnoted) this.#raise.run(userUuid, most)
  }
}
