import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ChangeIntent } from './journal.ts'
import type { CommittedChange } from './ledger.ts'

/**
 * Notes the copies that moves across mounts put together before they get their name. They are noted together with the
 * intent that begins one, and forgotten with the end of the change by which it goes, so that a start finds those that
 * nobody will go on with.
 */
export class Stopovers {
  readonly #note: StatementSync
  readonly #forget: StatementSync

  constructor(connection: DatabaseSync) {
    this.#note = connection.prepare('INSERT OR IGNORE INTO stopovers (user, path) VALUES (?, ?)')
    this.#forget = connection.prepare('DELETE FROM stopovers WHERE user = ? AND path = ?')
  }

  note({ userUuid, path, isStopover }: ChangeIntent): void {
    if (isStopover) this.#note.run(userUuid, path)
  }

  /** Takes a change that has happened. */
  follow({ user, op, path, source }: CommittedChange): void {
    if (op === 'move' && source !== null) this.#forget.run(user, source)
    if (op === 'delete') this.#forget.run(user, path)
  }
}
